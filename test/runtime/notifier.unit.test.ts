import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { createNotifier } from '../../pipeline/runtime/notifier.ts';

const { notify, subscribe } = createNotifier();

const nextNotification = () =>
  new Promise<void>((resolve) => {
    const subscription = new AbortController();
    const onNotify = () => {
      subscription.abort();
      resolve();
    };
    subscribe(onNotify, subscription.signal);
  });

it('a notification reaches the same thread', async () => {
  const received = nextNotification();
  notify();
  await received;
});

it('and comes from another thread', async () => {
  const received = nextNotification();
  const elsewhere = new Worker(
    `const { BroadcastChannel } = require('node:worker_threads');
     const channel = new BroadcastChannel('headrace-notify');
     channel.postMessage(null);
     channel.close();`,
    { eval: true },
  );
  await received;
  await elsewhere.terminate();
});

it('not after the subscription has ended', async () => {
  let received = 0;
  const subscription = new AbortController();
  subscribe(() => received++, subscription.signal);
  subscription.abort();
  const others = nextNotification();
  notify();
  await others;
  expect(received).toBe(0);
});
