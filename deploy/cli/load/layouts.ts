/** The two kinds of jobs: imports of attributes (a) and audiences with events (b). What to generate, submit and read for each. */
import {
  type ApiClient,
  audiencePath,
  importPath,
  listRecords,
  readText,
} from '../../../api/client/client.ts';
import { ApiProblem } from '../../../api/client/problem.ts';
import type { Audience, FileReport, ImportLog, ImportLogError, Load } from '../../../api/client/types.ts';
import { CommandError, exitCodes } from '../partner/exit-codes.ts';
import { ATTRIBUTE_ID, submitImport } from '../partner/submit-import.ts';
import type { CountCheck, ExpectedCounts, PreparedPrefix } from './jobs.ts';
import type { LayoutName, LoadPlan } from './options.ts';
import { readArray } from './read-array.ts';

export interface InvalidKind {
  code: string;
  row: string;
}

/** An interrupt aborts only reads: a job must be known to be removed. */
export interface Clients {
  reading: ApiClient;
  changing: ApiClient;
}

interface Outcome {
  checks: CountCheck[];
  errors: ImportLogError[];
}

export interface Layout {
  /** The second column of the files. */
  keys(): Promise<string[]>;
  invalid: readonly InvalidKind[];
  submit(prefix: PreparedPrefix): Promise<number>;
  progressPath(id: number): string;
  /** The counts of an ended job beside the expected ones. */
  outcome(id: number, expected: ExpectedCounts): Promise<Outcome>;
  /** Removes what a job created, as far as a partner can. */
  remove?(id: number): Promise<void>;
}

const MAX_READS = 3;

const badIdentifier = { code: 'bad_identifier', row: 'not-a-device,1' };
const optedOut = { code: 'opted_out', row: '00000000-0000-0000-0000-000000000000,1' };
const unknownKey = { code: 'unknown_key', row: 'ffffffff-ffff-4fff-bfff-ffffffffffff,not-a-key' };

const check = (what: string, expected: number, found: unknown): CountCheck => ({
  what,
  expected,
  found: Number(found ?? 0),
});

/** Every reason, expected or found. */
const rejectedChecks = (expected: Record<string, number>, found: Record<string, number>): CountCheck[] =>
  [...new Set([...Object.keys(expected), ...Object.keys(found)])].map((code) =>
    check(`rejected as ${code}`, expected[code] ?? 0, found[code]),
  );

const acceptedOf = ({ rows, rejected }: ExpectedCounts) =>
  Object.values(rejected).reduce((left, count) => left - count, rows);

function imports({ reading, changing }: Clients, { attributes, gzip }: LoadPlan): Layout {
  const keys = async () => {
    const found = await listRecords<{ attribute_id: number }>(reading, '/v1/marketplace/attribute', {
      limit: attributes,
    });
    if (found.length < attributes)
      throw new CommandError(
        exitCodes.failed,
        'too_few_attributes',
        `the load needs ${attributes} attributes and you have ${found.length}: lower --attributes, or ask the operator to create more with headrace admin attribute import FILE.csv --partner ID`,
      );
    return found.map(({ attribute_id }) => String(attribute_id));
  };

  /** Streamed: a job may have very many files. */
  async function countFiles(id: number) {
    const counted = { files: 0, accepted: 0, rejected: {} as Record<string, number> };
    const body = readText(await reading.open(`${importPath}/${id}/files`));
    for await (const { rows_uploaded, rows_rejected } of readArray<FileReport>(body)) {
      counted.files++;
      counted.accepted += rows_uploaded;
      for (const [code, rows] of Object.entries(rows_rejected))
        counted.rejected[code] = (counted.rejected[code] ?? 0) + rows;
    }
    return counted;
  }

  /** Retries a large response that was cut off. */
  async function countFilesAgain(id: number): Promise<Awaited<ReturnType<typeof countFiles>>> {
    for (let tries = 1; ; tries++) {
      try {
        return await countFiles(id);
      } catch (error) {
        const isBroken = error instanceof ApiProblem && error.isUnreachable;
        if (!isBroken || tries === MAX_READS) throw error;
      }
    }
  }

  return {
    keys,
    invalid: [badIdentifier, optedOut, unknownKey],
    submit: async ({ path }) =>
      (await submitImport(changing, { path, keyType: ATTRIBUTE_ID, compressed: gzip })).import_log_id,
    progressPath: (id) => `${importPath}/${id}/progress`,
    async outcome(id, expected) {
      const { data } = await reading.get<ImportLog>(`${importPath}/${id}`);
      const counted = await countFilesAgain(id);
      return {
        checks: [
          check('files', expected.files, counted.files),
          check('total_rows', expected.rows, data.total_rows),
          check('rows_uploaded', acceptedOf(expected), counted.accepted),
          check('unique_devices', expected.devices, data.unique_devices),
          ...rejectedChecks(expected.rejected, counted.rejected),
        ],
        errors: data.errors ?? [],
      };
    },
  };
}

function audiences({ reading, changing }: Clients, { attributes, prefix }: LoadPlan): Layout {
  /** Segments by audience. The list finds an audience by its segment, without its files, of which there may be very many. */
  const segments = new Map<number, number>();
  return {
    keys: async () => Array.from({ length: attributes }, (_, n) => `event-${n + 1}`),
    invalid: [badIdentifier, optedOut],
    async submit({ path }) {
      const { data } = await changing.change<Pick<Audience, 'audience_id' | 'default_warehouse_segment_id'>>(
        'POST',
        audiencePath,
        { name: `load test ${prefix}`, file_path: path },
      );
      segments.set(data.audience_id, data.default_warehouse_segment_id);
      return data.audience_id;
    },
    // The first load of an audience has the same id.
    progressPath: (id) => `${audiencePath}/${id}/loads/${id}/progress`,
    async outcome(id, expected) {
      const { data: found } = await reading.get<Audience[]>(`${audiencePath}?segment_id=${segments.get(id)}`);
      const { data: loads } = await reading.get<Load[]>(`${audiencePath}/${id}/loads?limit=1`);
      const [load] = loads;
      return {
        checks: [
          check('files', expected.files, load?.files),
          check('total_rows', expected.rows, load?.total_rows),
          check('uploaded_devices', acceptedOf(expected), found[0]?.uploaded_devices),
          check('unique_devices', expected.devices, found[0]?.unique_devices),
          ...rejectedChecks(expected.rejected, load?.rows_rejected ?? {}),
        ],
        errors: load?.errors ?? [],
      };
    },
    async remove(id) {
      await changing.change('DELETE', `${audiencePath}/${id}`);
    },
  };
}

const layouts: Record<LayoutName, (clients: Clients, plan: LoadPlan) => Layout> = {
  a: imports,
  b: audiences,
};

export const createLayout = (clients: Clients, plan: LoadPlan): Layout => layouts[plan.layout](clients, plan);
