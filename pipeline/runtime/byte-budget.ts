/** Admits work while its total size stays within a budget. Work that exceeds the budget by itself runs alone. */
interface ByteBudget {
  use<T>(bytes: number, work: () => Promise<T>): Promise<T>;
}

export function createByteBudget(limit: number): ByteBudget {
  let used = 0;
  const waiting: { bytes: number; go(): void }[] = [];
  const fits = (bytes: number) => used === 0 || used + bytes <= limit;

  function admit(): void {
    while (waiting.length > 0 && fits(waiting[0]!.bytes)) {
      const next = waiting.shift()!;
      used += next.bytes;
      next.go();
    }
  }

  return {
    async use(bytes, work) {
      await new Promise<void>((resolve) => {
        waiting.push({ bytes, go: resolve });
        admit();
      });
      try {
        return await work();
      } finally {
        used -= bytes;
        admit();
      }
    },
  };
}
