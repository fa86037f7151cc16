/**
 * Bounds how many bytes of files are loaded ahead of the oldest unfinished job of each lane, which itself never waits. A job is admitted
 * with the size of its files as they are stored; what they come to when they are unpacked counts as it appears.
 */
export interface ReadAhead {
  use<T>(job: number, bytes: number, load: () => Promise<T>): Promise<T>;
  /** The files of a job that is loaded come to so many bytes by now. */
  grow(job: number, bytes: number): void;
  /** Whether the job is not to be read any further for now: it has outgrown what it was admitted with, and there is no room. */
  mustWait(job: number): boolean;
  /** Call it when a job has ended: another may be the oldest now. */
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
