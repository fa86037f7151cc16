/** Composes audiences in a worker thread with its own database client, so that the API's event loop stays free. */
import { parentPort } from 'node:worker_threads';
import { createRetry } from '../../../pipeline/engine/retry.ts';
import { answerQuestions } from '../../../pipeline/engine/threads.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import { createTimeSharing } from '../../../pipeline/runtime/time-sharing.ts';
import { createDeviceSets } from '../../../pipeline/sets/device-sets.ts';
import { connectMongo, SERVICE_WAITS_MS } from '../../../pipeline/stores/mongo.ts';
import { createStores } from '../../../pipeline/stores/stores.ts';
import { parseConfig } from '../../../schemas/config.ts';
import { createComposeAudience, type Wanted } from './compose-audience.ts';

const MAX_TRIES = 5;

async function serve(): Promise<void> {
  const config = parseConfig(process.env, 'api');
  const log = createLogger(config, 'api');
  const { db } = await connectMongo(config, SERVICE_WAITS_MS);
  const retry = createRetry(log, { maxTries: MAX_TRIES });
  const composeAudience = createComposeAudience({
    ...createStores(db),
    sets: createDeviceSets(db),
    sharing: createTimeSharing(),
    retry,
  });
  /** By the tokens of their claims. */
  const composing = new Map<string, AbortController>();
  const onFatal = answerQuestions(parentPort!, {
    async compose(about, onProgress) {
      const wanted = about as Wanted;
      const cancel = new AbortController();
      composing.set(wanted.token, cancel);
      try {
        return await composeAudience(wanted, onProgress, cancel.signal);
      } finally {
        composing.delete(wanted.token);
      }
    },
    cancel: async (token) => composing.get(token as string)?.abort(),
  });
  process.on('unhandledRejection', onFatal);
}

void serve();
