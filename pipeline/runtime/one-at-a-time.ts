/** Work of one name is done one at a time, in the order in which it was asked for; that of different names side by side. */
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
