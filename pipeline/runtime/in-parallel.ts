/** Processes `atOnce` items at a time. After a failure, starts no more and waits for those in flight. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const take = async () => {
    while (next < items.length) {
      const index = next++;
      try {
        await work(items[index]!, index);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, take));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
