/**
 * The storage's client sets its clock by the Date of every response, and from a Date that is none it makes an invalid time with which it
 * can no longer sign requests. Two of them, such as a proxy may send, are joined by Node to one that is none.
 */
import type { S3Client } from '@aws-sdk/client-s3';

export type OnOddDate = (header: string, value: string) => void;

/** The only headers that are parsed as dates. */
const headers = ['date', 'last-modified'];

/** Removes such headers before the client sees them, and tells the first of each. */
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
    // The first to see what the storage has sent.
    { name: 'ignoreOddDates', step: 'deserialize', priority: 'low' },
  );
}
