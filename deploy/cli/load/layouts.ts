/** The two kinds of jobs: imports of attributes (a) and audiences with events (b). What to generate, submit and read for each. */
import { type ApiClient, audiencePath, importPath, listRecords } from '../../../api/client/client.ts';
import type { Audience, ImportLog, ImportLogError, Load, Progress } from '../../../api/client/types.ts';
import { CommandError, exitCodes } from '../partner/exit-codes.ts';
import { ATTRIBUTE_ID, submitImport } from '../partner/submit-import.ts';
import type { CountCheck, ExpectedCounts, PreparedPrefix } from './jobs.ts';
import type { LayoutName, LoadPlan } from './options.ts';

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
  outcome(id: number, expected: ExpectedCounts, progress: Progress): Promise<Outcome>;
  /** Removes what a job created, as far as a partner can. */
  remove?(id: number): Promise<void>;
}

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

  return {
    keys,
    invalid: [badIdentifier, optedOut, unknownKey],
    submit: async ({ path }) =>
      (await submitImport(changing, { path, keyType: ATTRIBUTE_ID, compressed: gzip })).import_log_id,
    progressPath: (id) => `${importPath}/${id}/progress`,
    async outcome(id, expected, progress) {
      const { data } = await reading.get<ImportLog>(`${importPath}/${id}`);
      return {
        checks: [
          check('files', expected.files, progress.files),
          check('total_rows', expected.rows, data.total_rows),
          check('unique_devices', expected.devices, data.unique_devices),
          ...rejectedChecks(expected.rejected, data.rows_rejected ?? {}),
        ],
        errors: data.errors ?? [],
      };
    },
  };
}

function audiences({ reading, changing }: Clients, { attributes, prefix }: LoadPlan): Layout {
  return {
    keys: async () => Array.from({ length: attributes }, (_, n) => `event-${n + 1}`),
    invalid: [badIdentifier, optedOut],
    async submit({ path }) {
      const request = { name: `load test ${prefix}`, file_path: path };
      const { data } = await changing.change<Pick<Audience, 'audience_id'>>('POST', audiencePath, request);
      return data.audience_id;
    },
    // The first load of an audience has the same id.
    progressPath: (id) => `${audiencePath}/${id}/loads/${id}/progress`,
    async outcome(id, expected) {
      // The list has loads without their files, of which there may be very many.
      const { data: loads } = await reading.get<Load[]>(`${audiencePath}/${id}/loads?limit=1`);
      const [load] = loads;
      return {
        checks: [
          check('files', expected.files, load?.files),
          check('total_rows', expected.rows, load?.total_rows),
          check('unique_devices', expected.devices, load?.unique_devices),
          check('audience_devices', expected.devices, load?.audience_devices),
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
