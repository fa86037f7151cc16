/** Buffers the pages of many small changes into one write; a large change is written at once. */
import type { PageDocument } from '../../schemas/stage-documents.ts';
import { setPoint } from './fault-points.ts';
import { INSERT_BYTES, type Pages } from './pages.ts';
import { documentBytes } from './regions.ts';

export function createPageWriter(pages: Pick<Pages, 'write'>) {
  let waiting: PageDocument[] = [];
  let bytes = 0;
  async function flush(): Promise<void> {
    if (waiting.length === 0) return;
    const written = waiting;
    waiting = [];
    bytes = 0;
    setPoint('sink:before-pages');
    await pages.write(written);
    setPoint('sink:after-pages');
  }
  return {
    flush,
    async add(more: PageDocument[]): Promise<void> {
      waiting.push(...more);
      bytes += more.reduce((sum, page) => sum + documentBytes(page), 0);
      if (bytes >= INSERT_BYTES) await flush();
    },
  };
}
