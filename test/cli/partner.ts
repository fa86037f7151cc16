/** A partner at a terminal: an API key, storage keys, and the `headrace` command, without the service's own settings. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { provisionPartner } from '../../api/provisioning/provision-partner.ts';
import { type ApiStores, createApiStores } from '../../api/stores/api-stores.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { runAdmin } from '../support/run-admin.ts';
import {
  type IssuedPartner,
  lastJsonLine,
  type Outcome,
  runHeadrace,
  startHeadrace,
} from '../support/run-headrace.ts';
import type { runHere } from '../support/run-here.ts';
import type { Service } from '../support/stack.ts';

export type { IssuedPartner };
export type Variables = Record<string, string>;

export async function provision(service: Service) {
  const admin = async <T>(...args: string[]): Promise<T> =>
    lastJsonLine<T>(await runAdmin([...args, '--json'], service.env));
  const withStores = async <T>(work: (stores: ApiStores) => Promise<T>): Promise<T> => {
    const mongo = await connectMongo(service.config);
    return work(createApiStores(mongo.db)).finally(mongo.close);
  };
  const issued = (await withStores((stores) =>
    provisionPartner(stores, service.config, 'Acme'),
  )) as IssuedPartner;
  const attribute = (foreignKey?: string) =>
    withStores(async ({ attributes }) => {
      const key = foreignKey === undefined ? {} : { foreignKey };
      return (await attributes.create({ partner: issued.partner_id, name: 'Red', ...key }))._id;
    });
  return { issued, admin, attribute };
}

/** The environment of such a command; the tester's own profiles are out of reach. */
export function variablesOf({ api_key, s3 }: IssuedPartner, apiUrl: string): Variables {
  return {
    ...emptyHome(),
    HEADRACE_API_URL: apiUrl,
    HEADRACE_API_KEY: api_key,
    HEADRACE_STORAGE_URL: `s3://${s3.bucket}/${s3.prefix}`,
    HEADRACE_STORAGE_ENDPOINT: s3.endpoint,
    HEADRACE_STORAGE_REGION: s3.region,
    HEADRACE_STORAGE_ACCESS_KEY_ID: s3.access_key_id,
    HEADRACE_STORAGE_SECRET_ACCESS_KEY: s3.secret_access_key,
  };
}

/** A new home for each call, removed after the run. */
export const emptyHome = (): Variables => ({
  XDG_CONFIG_HOME: mkdtempSync(join(inject('scratch'), 'home-')),
});

/** `runOne`: a process for each command, or runHere. */
export function createTerminal(variables: () => Variables, runOne: typeof runHere = runHeadrace) {
  const run = (...args: string[]): Promise<Outcome> => runOne(args, variables());
  return {
    run,
    start: (...args: string[]) => startHeadrace(args, variables()),
    /** The output lines of a command that exits with this code and an empty stderr. */
    async lines(...args: string[]): Promise<string[]> {
      const { code, stdout, stderr } = await run(...args);
      expect([code, stderr]).toEqual([0, '']);
      return stdout.trimEnd().split('\n');
    },
    // biome-ignore lint/suspicious/noExplicitAny: what the command printed
    async json(...args: string[]): Promise<any> {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    },
    /** The error of a command that exits with this code. */
    async failure(code: number, ...args: string[]) {
      const outcome = await run(...args, '--json');
      expect([outcome.code, outcome.stdout + outcome.stderr]).toEqual([code, expect.any(String)]);
      const error = JSON.parse(outcome.stderr) as Record<string, unknown>;
      expect(Object.keys(error)).toEqual(['code', 'message', 'request_id']);
      return { ...error, stdout: outcome.stdout } as {
        code: string;
        message: string;
        request_id: string | null;
        stdout: string;
      };
    },
  };
}
