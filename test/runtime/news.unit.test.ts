import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { createNews } from '../../pipeline/runtime/news.ts';

const { tell, listen } = createNews();

const nextNews = () =>
  new Promise<void>((resolve) => {
    const listening = new AbortController();
    const onNews = () => {
      listening.abort();
      resolve();
    };
    listen(onNews, listening.signal);
  });

it('is heard in the same thread', async () => {
  const heard = nextNews();
  tell();
  await heard;
});

it('is heard from another thread', async () => {
  const heard = nextNews();
  const elsewhere = new Worker(
    `const { BroadcastChannel } = require('node:worker_threads');
     const channel = new BroadcastChannel('headrace-news');
     channel.postMessage(null);
     channel.close();`,
    { eval: true },
  );
  await heard;
  await elsewhere.terminate();
});

it('is not heard by those who do not listen any more', async () => {
  let heard = 0;
  const listening = new AbortController();
  listen(() => heard++, listening.signal);
  listening.abort();
  const others = nextNews();
  tell();
  await others;
  expect(heard).toBe(0);
});
