/** The API alone on the shared servers; its partners have keys but no storage, which suffices for all of HTTP. */
import { readFile } from 'node:fs/promises';
import type { Collection, Db } from 'mongodb';
import { expect } from 'vitest';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { draftPartner } from '../../pipeline/stores/partners.ts';
import type { Config } from '../../schemas/config.ts';
import { type AudienceDocument, collections } from '../../schemas/documents.ts';
import type { FileDocument, JobDocument } from '../../schemas/job-documents.ts';
import type { RejectsDocument } from '../../schemas/stage-documents.ts';
import type { Driver } from '../support/driver.ts';
import { startInProcess } from '../support/in-process-api.ts';
import {
  type OwnService,
  type Service,
  sharedService,
  startService,
  withoutPorts,
} from '../support/stack.ts';
import { createTokenSigner, type SignToken } from '../support/user-tokens.ts';
import { waitFor } from '../support/wait-for.ts';

export const IMPORT = '/v1/marketplace/import';
export const AUDIENCE = '/v2/firstparty/audience';

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test is about to look into
  json: any;
}

export interface CallOptions {
  body?: unknown;
  raw?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
}
export type Call = (method: string, path: string, options?: CallOptions) => Promise<Reply>;

/** The server may close a kept-alive connection just as it is reused, if this process was busy. */
const isClosed = ({ cause }: Error): boolean =>
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((cause as { code?: string } | undefined)?.code ?? '');

export function createCaller(base: string, key?: string): Call {
  return async (method, path, { body, raw, headers = {} } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const ask = () =>
      fetch(base + path, {
        method,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sent === undefined ? {} : { body: sent }),
      });
    const response = await ask().catch((error) => {
      if (method === 'GET' && isClosed(error)) return ask();
      throw error;
    });
    const text = await response.text();
    const isJson = /^application\/([\w.]+\+)?json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : null,
    };
  };
}

/** Calls of a partner of the whole service, with a new key. */
export async function callerOf(
  { apiUrl, config }: Pick<Service, 'apiUrl' | 'config'>,
  { stores }: Pick<Driver, 'stores'>,
  { _id }: { _id: string },
): Promise<Call> {
  return createCaller(apiUrl, (await stores.apiKeys.create(config.secret, _id)).key);
}

/** The record at this path once its job or dry run has ended. */
export const endOf = (call: Call, path: string): Promise<Reply['json']> =>
  waitFor(
    async () => {
      const { json } = await call('GET', path);
      return json.status >= 2 ? json : undefined;
    },
    { what: `the end of ${path}` },
  );

/** The lines of an API's log that have this text, once there are so many: a line is written after the response. */
export const logLines = (service: Pick<Service, 'log'>, text: string, count = 1): Promise<string[]> =>
  waitFor(
    async () => {
      const lines = (await readFile(service.log('api'), 'utf8')).split('\n').slice(0, -1);
      const found = lines.filter((line) => line.includes(text) && line.includes('"request"'));
      return found.length >= count ? found : undefined;
    },
    { what: `${text} in the log` },
  );

/** The responses of a list, by following the Link headers to the last page. */
export async function pagesOf(call: Call, path: string): Promise<Reply[]> {
  const pages: Reply[] = [];
  for (let next: string | undefined = path; next; ) {
    const page: Reply = await call('GET', next);
    expect(page.status).toBe(200);
    pages.push(page);
    next = /<[^>]*?(\/v\d\/[^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return pages;
}

export interface TestPartner {
  id: string;
  prefix: string;
  key: string;
  call: Call;
  /** Queues an import and returns its id. */
  queueImport(file_path?: string, more?: object): Promise<number>;
  /** Creates an audience, of a customer if one is named, and returns its id. */
  createAudience(audience?: { name?: string; file_path?: string; customer?: string }): Promise<number>;
}

export interface Api<S extends Service = Service> {
  service: S;
  config: Config;
  db: Db;
  jobs: ReturnType<typeof jobsOf>;
  audiences: Collection<AudienceDocument>;
  partner(): Promise<TestPartner>;
  attribute(partner: TestPartner, foreignKey?: string): Promise<number>;
  /** Signs user tokens. */
  token: SignToken;
  anonymous: Call;
  stop(): Promise<void>;
}

const jobsOf = (db: Db) => db.collection<JobDocument>(collections.jobs);

async function apiOf<S extends Service>(service: S, stop: () => Promise<void>): Promise<Api<S>> {
  const mongo = await connectMongo(service.config);
  const { db } = mongo;
  const stores = createApiStores(db);
  const token = createTokenSigner(db, service.config);
  return {
    service,
    config: service.config,
    db,
    jobs: jobsOf(db),
    audiences: db.collection(collections.audiences),
    anonymous: createCaller(service.apiUrl),
    token,
    async partner() {
      const partner = draftPartner('test');
      await stores.partners.insert(partner);
      const { key } = await stores.apiKeys.create(service.config.secret, partner._id);
      const call = createCaller(service.apiUrl, key);
      return {
        id: partner._id,
        prefix: partner.prefix,
        key,
        call,
        queueImport: async (file_path = 'a.csv', more = {}) =>
          (await call('POST', IMPORT, { body: { file_path, key_type: 0, ...more } })).json.import_log_id,
        async createAudience({ name = 'n', file_path = 'a', customer } = {}) {
          const headers: Record<string, string> =
            customer === undefined ? {} : { 'x-user-token': await token(partner._id, customer) };
          return (await call('POST', AUDIENCE, { body: { name, file_path }, headers })).json.audience_id;
        },
      };
    },
    attribute: async (partner, foreignKey) =>
      (
        await stores.attributes.create({
          partner: partner.id,
          name: 'attribute',
          ...(foreignKey ? { foreignKey } : {}),
        })
      )._id,
    async stop() {
      await stop();
      await mongo.close();
    },
  };
}

/** The API that tests share, without a pipeline. */
export const sharedApi = async (): Promise<Api> => apiOf(await sharedService('idle'), async () => {});

async function startWith(env: Record<string, string>): Promise<Api> {
  const service = await startInProcess(env);
  return apiOf(service, service.stop);
}

/** An API with other settings, on the shared data. */
export async function startApi(env: Record<string, string>): Promise<Api> {
  const { env: shared } = await sharedService('idle');
  return startWith({ ...withoutPorts(shared), ...env });
}

/** With its own data: for tests that read all jobs, the whole marketplace or every webhook. */
export const startApiOnOwnData = (env: Record<string, string> = {}): Promise<Api> => startWith(env);

/** In its own process, which a test may kill, freeze or restart. */
export async function startApiProcess(env: Record<string, string> = {}): Promise<Api<OwnService>> {
  const service = await startService({ parts: ['api'], env });
  return apiOf(service, service.stop);
}

/** A file document as dispatch and the ledger write it. */
export function fileDocument(job: JobDocument, number: number, changes: Partial<FileDocument>): FileDocument {
  const listing = job.listing ?? `${job._id}-listing`;
  return {
    _id: `${listing}.${number}`,
    job: job._id,
    listing,
    number,
    audience: job.audience,
    generation: job.generation,
    path: `p-x/file-${number}.csv`,
    etag: 'etag',
    size: 100,
    compressed: false,
    batchBytes: 700_000,
    status: 2,
    rows: 10,
    accepted: 9,
    pairsRead: 9,
    duplicates: 1,
    rejected: { bad_identifier: 1 },
    failure: null,
    updatedAt: new Date('2026-06-01T00:00:00Z'),
    ...changes,
  } as FileDocument;
}

/** Gives a job a frozen list of files, as dispatch does. */
export async function listFiles(api: Api, id: number, files: Partial<FileDocument>[]): Promise<JobDocument> {
  const listing = `${id}-listing`;
  const job = await api.jobs.findOneAndUpdate(
    { _id: id },
    { $set: { phase: 'listed', status: 1, listing, fileCount: files.length } },
    { returnDocument: 'after' },
  );
  const documents = files.map((changes, number) => fileDocument(job!, number, changes));
  if (documents.length > 0) await api.db.collection<FileDocument>(collections.files).insertMany(documents);
  return job!;
}

export const rejects = (
  job: number,
  file: number,
  batch: number,
  rows: RejectsDocument['rows'],
): RejectsDocument => ({
  _id: `${job}.${file}.${batch}`,
  job,
  file,
  batch,
  rows,
});
