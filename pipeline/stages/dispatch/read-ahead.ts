/** Bounds how many bytes of files are loaded ahead of the oldest unfinished job, which itself never waits. */
export interface ReadAhead {
  use<T>(job: number, bytes: number, load: () => Promise<T>): Promise<T>;
  /** Call it when a job has ended: another may be the oldest now. */
  admit(): void;
}

export function createReadAhead(maxBytes: number, isOldest: (job: number) => boolean): ReadAhead {
  const waiting = new Map<number, { bytes: number; go(): void }>();
  let used = 0;

  function admit(): void {
    for (const [job, { bytes, go }] of waiting) {
      if (!isOldest(job) && used + bytes > maxBytes) continue;
      waiting.delete(job);
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
        used -= bytes;
        admit();
      }
    },
  };
}
