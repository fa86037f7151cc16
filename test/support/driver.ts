/**
 * Drives a running pipeline without the API: creates partners and attributes, uploads files, queues jobs, waits for their ends. For
 * tests of the pipeline; REST has its own tests.
 */
import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { createAcceptQueue } from '../../api/jobs/accept-queue.ts';
import { createApiStores } from '../../api/stores/api-stores.ts';
import type { ImportRequest, JobRequest } from '../../pipeline/accept/new-job.ts';
import { createPublisher } from '../../pipeline/kafka/publish.ts';
import { ensureTopics } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { serviceCredentials } from '../../pipeline/sources/credentials.ts';
import { createIdentifierListStore } from '../../pipeline/stores/identifier-lists.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { draftPartner } from '../../pipeline/stores/partners.ts';
import type { Config } from '../../schemas/config.ts';
import { type AudienceDocument, collections } from '../../schemas/documents.ts';
import {
  EVERYONE,
  type FileDocument,
  type JobDocument,
  type PrivacyType,
} from '../../schemas/job-documents.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { createStoredSets } from './stored-sets.ts';
import { QUIET_MS, waitFor } from './wait-for.ts';

export type Driver = Awaited<ReturnType<typeof createDriver>>;

export async function createDriver(config: Config) {
  const log = createLogger({ logLevel: 'silent' }, 'driver');
  // Independent of the settings of the service under test: the driver waits for a slow server.
  const mongo = await connectMongo({ ...config, limitBackendMs: 60_000 });
  const { db } = mongo;
  const publisher = createPublisher(config, log);
  // Retries like the service if a server is too slow to answer.
  const retried = (what: string, ask: () => Promise<unknown>) =>
    waitFor(() => ask().then(() => true), { what });
  await retried('Kafka', publisher.connect);
  await retried('the topics', () => ensureTopics(config, log));
  await retried('the indexes', () => ensureIndexes(db));
  const stores = createApiStores(db);
  const queue = createAcceptQueue({ ...stores, publisher, log, limitMs: QUIET_MS });
  const s3 = new S3Client({
    endpoint: config.s3Endpoint,
    region: config.s3Region,
    forcePathStyle: true,
    credentials: serviceCredentials(config)!,
  });
  const sets = createStoredSets(db);
  const lists = createIdentifierListStore(db);
  const jobs = db.collection<JobDocument>(collections.jobs);
  const audiences = db.collection<AudienceDocument>(collections.audiences);

  const accept = async (wanted: JobRequest) => (await queue.accept(wanted)).job._id;

  /** Progress of the unfinished jobs: changes as long as the pipeline works on any of them. */
  const openJobs = () =>
    jobs
      .find({ phase: { $nin: ['ended', 'withdrawn'] } }, { projection: { phase: 1, updatedAt: 1 } })
      .toArray();

  const put = (bucket: string, key: string, body: Buffer | string) =>
    s3.send(
      new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentLength: Buffer.byteLength(body) }),
    );

  return {
    db,
    config,
    publisher,
    stores,
    sets,
    jobs,
    audiences,

    async partner(): Promise<PartnerDocument> {
      const partner = draftPartner(`partner ${randomBytes(4).toString('hex')}`);
      await stores.partners.insert(partner);
      return partner;
    },
    attribute: async (partner: PartnerDocument, foreignKey?: string) =>
      (
        await stores.attributes.create({
          partner: partner._id,
          name: 'attribute',
          ...(foreignKey ? { foreignKey } : {}),
        })
      )._id,

    upload: (partner: PartnerDocument, path: string, body: Buffer | string) =>
      put(config.s3Bucket, partner.prefix + path, body),
    uploadTo: put,
    makeBucket: (bucket: string) => s3.send(new CreateBucketCommand({ Bucket: bucket })),

    import: (partner: PartnerDocument, filePath: string, options: Partial<ImportRequest> = {}) =>
      accept({
        kind: 'import',
        partner: partner._id,
        filePath,
        pathType: 0,
        keyType: 0,
        compressed: null,
        ...options,
      }),
    delete: (partner: PartnerDocument, attributes: number[]) =>
      accept({
        kind: 'delete',
        partner: partner._id,
        keyType: 0,
        attributes,
        keys: attributes.map(String),
      }),
    /** Identifiers, or the path of a file of them; in one partner's data or, with null, in everyone's. */
    async privacy(type: PrivacyType, partner: PartnerDocument | null, asked: string[] | string) {
      const isFile = typeof asked === 'string';
      return accept({
        kind: 'privacy',
        privacy: type,
        partner: partner?._id ?? EVERYONE,
        filePath: isFile ? asked : '',
        compressed: 'auto',
        ...(isFile ? {} : { identifiers: await lists.store(asked, config.secret) }),
      });
    },
    async createAudience(partner: PartnerDocument, filePath: string) {
      const id = await accept({
        kind: 'audience',
        partner: partner._id,
        filePath,
        audienceName: 'audience',
        customer: null,
      });
      await stores.audiences.ensure((await jobs.findOne({ _id: id }))!);
      return id;
    },
    async append(partner: PartnerDocument, audience: number, filePath: string) {
      const { generation } = (await audiences.findOne({ _id: audience }))!;
      return accept({ kind: 'audience', partner: partner._id, filePath, audience, generation });
    },
    async clear(partner: PartnerDocument, audience: number) {
      const { generation } = (await audiences.findOne({ _id: audience }))!;
      await stores.audiences.clear({ partner: partner._id, customer: null }, audience, generation);
    },

    /** Waits for the end of the job. */
    ended: (job: number): Promise<JobDocument> =>
      waitFor(() => jobs.findOne({ _id: job, phase: 'ended' }), {
        what: `the end of job ${job}`,
        progress: openJobs,
      }) as Promise<JobDocument>,
    openJobs,
    filesOf: (job: number) =>
      db.collection<FileDocument>(collections.files).find({ job }).sort({ number: 1 }).toArray(),

    /** The members of a set as lower-case identifiers; of many sets, including those of an audience's events. */
    members: sets.members,
    membersOf: sets.membersOf,

    async close() {
      await queue.drain();
      await publisher.close();
      await mongo.close();
      s3.destroy();
    },
  };
}
