/** Finds cancelled jobs: their audience was cleared after they were accepted, or an operator cancelled them. */
import { fileFailureCodes } from '../../../schemas/codes.ts';
import type { FileFailure, JobDocument } from '../../../schemas/job-documents.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import type { Stores } from '../../stores/stores.ts';

type Dependencies = Pick<Stores, 'jobs' | 'audiences'>;

/** Loading jobs are checked many times a second; cancellations by operators only every second. */
const OPERATOR_MS = 1_000;

export function createCancellations({ jobs, audiences }: Dependencies) {
  let askedForOperator = 0;

  async function find(among: JobDocument[], byOperatorToo: boolean): Promise<Map<number, FileFailure>> {
    const [byClear, byOperator] = await Promise.all([
      audiences.clearedAmong(among),
      byOperatorToo ? jobs.cancelRequested(among.map(({ _id }) => _id)) : [],
    ]);
    const failure = (message: string): FileFailure => ({ code: 'cancelled', message });
    return new Map([
      ...[...byOperator].map((id) => [id, failure('An operator cancelled the job.')] as const),
      ...[...byClear].map((id) => [id, failure(fileFailureCodes.cancelled)] as const),
    ]);
  }

  return {
    of: groupCommit(async (wanted: JobDocument[]) => {
      const failures = await find(wanted, true);
      return wanted.map(({ _id }) => failures.get(_id));
    }),

    among(loading: JobDocument[]): Promise<Map<number, FileFailure>> {
      const byOperatorToo = performance.now() - askedForOperator > OPERATOR_MS;
      if (byOperatorToo) askedForOperator = performance.now();
      return find(loading, byOperatorToo);
    },
  };
}
