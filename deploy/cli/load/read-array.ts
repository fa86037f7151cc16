/** Streams the elements of a JSON array, so that memory stays bounded. */
export async function* readArray<T>(body: AsyncIterable<string>): AsyncGenerator<T> {
  const structure = /["\\[\]{},]/g;
  let text = '';
  let depth = 0;
  let isString = false;
  /** Start of the current element. */
  let start = 0;
  let at = 0;
  for await (const chunk of body) {
    text = text.slice(start) + chunk;
    at -= start;
    start = 0;
    for (;;) {
      structure.lastIndex = at;
      const found = structure.exec(text);
      if (!found) break;
      const [sign] = found;
      at = structure.lastIndex;
      if (isString) {
        // An escaped character does not end the string; it may be in the next chunk.
        if (sign === '\\') at++;
        else isString = sign !== '"';
      } else if (sign === '"') {
        isString = true;
      } else if (sign === '[' || sign === '{') {
        if (depth++ === 0) start = at;
      } else {
        if (sign !== ',') depth--;
        const isEnd = depth === 0 || (depth === 1 && sign === ',');
        if (!isEnd) continue;
        const element = text.slice(start, found.index);
        start = at;
        if (element.trim() !== '') yield JSON.parse(element) as T;
      }
    }
    at = Math.max(at, text.length);
  }
}
