/** Runs work of the same name one at a time, in call order, and work of different names concurrently. */
export function createOneAtATime() {
  const last = new Map<string, Promise<unknown>>();

  return async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(name);
    const own = before ? before.then(work, work) : work();
    last.set(name, own);
    try {
      return await own;
    } finally {
      if (last.get(name) === own) last.delete(name);
    }
  };
}
