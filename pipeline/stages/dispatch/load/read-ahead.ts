/**
 * Limits the bytes loaded ahead of the oldest unfinished job of each lane, which itself never waits. A job is admitted with the stored size
 * of its files; the growth of compressed files counts as it appears.
 */
export interface ReadAhead {
  use<T>(job: number, bytes: number, load: () => Promise<T>): Promise<T>;
  /** Updates the uncompressed bytes of a loading job. */
  grow(job: number, bytes: number): void;
  /** Whether reading the job must pause: it has grown since it was admitted and the limit is exceeded. */
  mustWait(job: number): boolean;
  /** Call it when a job has ended: another may now be the oldest of its lane. */
  admit(): void;
}

export function createReadAhead(maxBytes: number, isOldest: (job: number) => boolean): ReadAhead {
  const waiting = new Map<number, { bytes: number; go(): void }>();
  const loading = new Map<number, { admitted: number; bytes: number }>();
  let used = 0;

  function admit(): void {
    for (const [job, { bytes, go }] of waiting) {
      if (!isOldest(job) && used + bytes > maxBytes) continue;
      waiting.delete(job);
      loading.set(job, { admitted: bytes, bytes });
      used += bytes;
      go();
    }
  }

  return {
    admit,
    async use(job, bytes, load) {
      await new Promise<void>((resolve) => {
        waiting.set(job, { bytes, go: resolve });
        admit();
      });
      try {
        return await load();
      } finally {
        used -= loading.get(job)!.bytes;
        loading.delete(job);
        admit();
      }
    },
    grow(job, bytes) {
      const own = loading.get(job);
      if (!own || bytes <= own.bytes) return;
      used += bytes - own.bytes;
      own.bytes = bytes;
    },
    mustWait(job) {
      const own = loading.get(job);
      return own !== undefined && own.bytes > own.admitted && used > maxBytes && !isOldest(job);
    },
  };
}
