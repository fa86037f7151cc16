/** Secrets never reach the log, wherever records contain them. */
import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';

function logged(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ logLevel: 'trace' }, 'test', { write: (line) => void lines.push(line) }));
  return lines.join('');
}

describe('the log', () => {
  const secret = randomBytes(20).toString('hex');

  it('holds no secret by its name, at any depth of our records', () => {
    const credentials = { accessKeyId: secret, secretAccessKey: secret, region: 'eu-west-1' };
    const records: object[] = [
      { credentials },
      { job: { _id: 1, credentials } },
      { request: { body: { credentials } } },
      credentials,
      { options: credentials },
      { authorization: `Bearer ${secret}` },
      { req: { headers: { authorization: `Bearer ${secret}`, 'x-user-token': secret } } },
      { apiKey: secret, userToken: secret, password: secret },
      { env: { HEADRACE_SECRET: secret, HEADRACE_S3_SECRET_ACCESS_KEY: secret } },
    ];
    for (const record of records) {
      const line = logged((log) => log.info(record, 'a fact'));
      expect(line).toContain('[redacted]');
      expect(line, JSON.stringify(record)).not.toContain(secret);
    }
  });

  it('holds no secret of an error: neither in its message, its stack, its fields nor its causes', () => {
    const url = `mongodb://headrace:${secret}@db.example:27017/?replicaSet=rs0`;
    const cause = new Error(`cannot reach ${url}`);
    const error = Object.assign(new Error(`failed at ${url}`, { cause }), { secretAccessKey: secret });
    for (const record of [{ err: error }, { err: new Error('outer', { cause: error }) }]) {
      const line = logged((log) => log.error(record, 'failed'));
      expect(line).not.toContain(secret);
      expect(line).toContain('db.example');
    }
  });

  it('tells an error whose fields are beyond telling', () => {
    const reason = {
      get servers() {
        throw new Error('not now');
      },
    };
    const error = Object.assign(new Error('no primary'), { code: 'E_NONE', reason });
    expect(JSON.parse(logged((log) => log.warn({ err: error }, 'failed'))).err).toMatchObject({
      message: 'no primary',
      code: 'E_NONE',
    });
  });

  it('tells an error that holds what the driver knows of its servers', async () => {
    const client = new MongoClient('mongodb://127.0.0.1:1/?replicaSet=rs0', { serverSelectionTimeoutMS: 50 });
    const error = await client.connect().catch((reason) => reason);
    await client.close();
    expect(JSON.parse(logged((log) => log.warn({ err: error }, 'failed'))).err).toMatchObject({
      type: 'MongoServerSelectionError',
      // Followed by the messages of its causes, if the connection was refused in time.
      message: expect.stringContaining(error.message),
    });
  });

  it('says the level, the process and the time, and the job on every line about it', () => {
    const line = JSON.parse(logged((log) => log.child({ job: 7 }).warn('slow')));
    expect(line).toMatchObject({ level: 'warn', process: 'test', job: 7, msg: 'slow' });
    expect(new Date(line.time).toISOString()).toBe(line.time);
  });
});
