/** The thread that composes audiences, with a database client of its own: the event loop of the API stays free. */
import { parentPort } from 'node:worker_threads';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createRetry } from '../../pipeline/runtime/retry.ts';
import { answerQuestions } from '../../pipeline/runtime/threads.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { createComposeSlots, type Wanted } from './compose-slots.ts';

const MAX_TRIES = 5;

const config = parseConfig(process.env);
const log = createLogger(config, 'api');
const { db } = await connectMongo(config);
// Every chunk is read once in a computation: a cache would only take memory.
const sets = createDeviceSets(db, { cacheBytes: 0 });
const composeSlots = createComposeSlots(sets, createRetry(log, { maxTries: MAX_TRIES }));
const onFatal = answerQuestions(parentPort!, {
  compose: (wanted, onProgress) => composeSlots(wanted as Wanted, onProgress),
});
process.on('unhandledRejection', onFatal);
