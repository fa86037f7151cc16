/**
 * The S3 client sets its clock by the Date header of every response. An invalid Date gives it an invalid clock, and it can no longer sign
 * requests. A proxy may send a second Date header, which Node joins with the first into an invalid one.
 */
import type { S3Client } from '@aws-sdk/client-s3';

export type OnOddDate = (header: string, value: string) => void;

/** The only headers that are parsed as dates. */
const headers = ['date', 'last-modified'];

/** Removes invalid date headers before the client sees them, and reports the first of each. */
export function ignoreOddDates({ middlewareStack }: S3Client, onOddDate: OnOddDate = () => {}): void {
  const told = new Set<string>();
  middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as { headers?: Record<string, string> };
      for (const name of headers) {
        const value = response.headers?.[name];
        if (value === undefined || !Number.isNaN(Date.parse(value))) continue;
        delete response.headers![name];
        if (!told.has(name)) onOddDate(name, value);
        told.add(name);
      }
      return result;
    },
    // Runs first on the response.
    { name: 'ignoreOddDates', step: 'deserialize', priority: 'low' },
  );
}
