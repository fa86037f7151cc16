/** Does `work` for 0 … count-1, so many at a time. The first failure is the caller's, and nothing more is begun. */
export async function inParallel(
  count: number,
  atOnce: number,
  work: (number: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const take = async () => {
    while (next < count) {
      const number = next++;
      try {
        await work(number);
      } catch (error) {
        next = count;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, take));
}
