/** The service's state in the form of the oracle's. */

import { blankRows } from '../../../pipeline/formats/find-identifiers.ts';
import { createAttributeDeviceStore } from '../../../pipeline/stores/attribute-devices.ts';
import { collections } from '../../../schemas/documents.ts';
import type { FileDocument } from '../../../schemas/job-documents.ts';
import type { RejectsDocument } from '../../../schemas/stage-documents.ts';
import type { Driver } from '../../support/driver.ts';
import type {
  ExpectedAudience,
  ExpectedError,
  ExpectedFile,
  ExpectedJob,
  Oracle,
} from '../../support/oracle.ts';
import { setNames } from '../../support/stored-sets.ts';

export interface Picture {
  jobs: Record<number, ExpectedJob>;
  files: Record<number, ExpectedFile[]>;
  audiences: Record<number, ExpectedAudience>;
  sets: Record<string, string[]>;
  /** Devices by attribute, without empty attributes. */
  attributes: Record<number, number>;
}

const inOrder = <T>(list: T[], by: (one: T) => string) => [...list].sort((a, b) => (by(a) < by(b) ? -1 : 1));
const byFile = (errors: ExpectedError[] | null) => errors && inOrder(errors, ({ file }) => file ?? '');
const byPath = (files: ExpectedFile[]) => inOrder(files, ({ path }) => path);
const only = ({ code, file, line, count }: ExpectedError): ExpectedError => ({
  code,
  ...(file === undefined ? {} : { file }),
  ...(line === undefined ? {} : { line }),
  ...(count === undefined ? {} : { count }),
});

/**
 * Rejected rows of a device that was ever deleted may be blank, depending on when they were read, so both sides blank them. A
 * separate check finds rows that should be blank.
 */
const withoutErased = <Row extends { raw: string }>(oracle: Oracle, rows: Row[]): Row[] =>
  blankRows(rows, oracle.wasSuppressed) ?? rows;

export function expected(oracle: Oracle): Picture {
  const picture: Picture = { jobs: {}, files: {}, audiences: {}, sets: {}, attributes: {} };
  for (const [id, job] of oracle.jobs) picture.jobs[id] = { ...job, errors: byFile(job.errors) };
  for (const [id, files] of oracle.files)
    picture.files[id] = byPath(
      files.map((file) => ({ ...file, rejects: file.rejects && withoutErased(oracle, file.rejects) })),
    );
  for (const [
    id,
    { generation, uniqueDevices, uploadedDevices, matchedDevices, outcome },
  ] of oracle.audiences)
    picture.audiences[id] = { generation, uniqueDevices, uploadedDevices, matchedDevices, outcome };
  for (const name of oracle.filledSets()) picture.sets[name] = [...oracle.members(name)].sort();
  for (const { id } of oracle.attributes) {
    const { size } = oracle.members(setNames.attribute(id));
    if (size > 0) picture.attributes[id] = size;
  }
  return picture;
}

export async function observed(driver: Driver, oracle: Oracle): Promise<Picture> {
  const picture: Picture = { jobs: {}, files: {}, audiences: {}, sets: {}, attributes: {} };
  const ids = [...oracle.jobs.keys()];
  for (const job of await driver.jobs.find({ _id: { $in: ids } }).toArray()) {
    const { _id, status, rows, uniqueDevices, filesDone, errors, accepted, rejected } = job;
    const { audienceDevices, newDevices, suppressed = 0 } = job;
    picture.jobs[_id] = {
      status: status as 2 | 3,
      rows,
      accepted: accepted!,
      rejected: rejected!,
      uniqueDevices,
      suppressed,
      ...(job.kind === 'audience'
        ? { growth: { audienceDevices: audienceDevices!, newDevices: newDevices! } }
        : {}),
      files: filesDone,
      errors: byFile(errors?.map(only) ?? null),
    };
    picture.files[_id] = [];
  }
  const rejects = await rejectsOf(driver, ids);
  const files = driver.db.collection<FileDocument>(collections.files).find({ job: { $in: ids } });
  for await (const file of files) {
    const wanted = oracle.files.get(file.job)?.find(({ path }) => path === file.path);
    picture.files[file.job]!.push({
      path: file.path,
      status: file.status as 2 | 3,
      rows: file.rows,
      accepted: file.accepted,
      duplicates: file.duplicates,
      suppressed: file.suppressed ?? 0,
      rejected: file.rejected,
      events: Object.fromEntries((file.events ?? []).map(({ event, rows }) => [event, rows])),
      failure: file.failure && only(file.failure),
      rejects:
        wanted?.rejects === null
          ? null
          : withoutErased(oracle, rejects.get(`${file.job}.${file.number}`) ?? []),
    });
  }
  for (const id of ids) picture.files[id] = byPath(picture.files[id] ?? []);
  const audiences = driver.audiences.find({ _id: { $in: [...oracle.audiences.keys()] } });
  for await (const { _id, generation, uniqueDevices, uploadedDevices, matchedDevices, outcome } of audiences)
    picture.audiences[_id] = { generation, uniqueDevices, uploadedDevices, matchedDevices, outcome };
  picture.sets = await setsOf(driver, oracle);
  const counts = await createAttributeDeviceStore(driver.db).of(oracle.attributes.map(({ id }) => id));
  for (const { id } of oracle.attributes) if (counts.has(id)) picture.attributes[id] = counts.get(id)!;
  return picture;
}

async function rejectsOf(driver: Driver, jobs: number[]): Promise<Map<string, RejectsDocument['rows']>> {
  const rejects = new Map<string, RejectsDocument['rows']>();
  const cursor = driver.db
    .collection<RejectsDocument>(collections.rejects)
    .find({ job: { $in: jobs } })
    .sort({ job: 1, file: 1, batch: 1 });
  for await (const { job, file, rows } of cursor)
    rejects.set(`${job}.${file}`, [...(rejects.get(`${job}.${file}`) ?? []), ...rows]);
  return rejects;
}

/** Every non-empty set of the attributes and of the audiences' current generations. */
async function setsOf(driver: Driver, oracle: Oracle): Promise<Record<string, string[]>> {
  const sets: Record<string, string[]> = {};
  const names = [
    ...oracle.attributes.map(({ id }) => setNames.attribute(id)),
    ...[...oracle.audiences].map(([id, { generation }]) => setNames.audience(id, generation)),
  ];
  for (const [name, members] of await driver.membersOf(names)) sets[name] = [...members].sort();
  return sets;
}
