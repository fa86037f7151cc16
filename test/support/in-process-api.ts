/** An API inside the test process: compiled as in production, without the start of a process. */
import { createWriteStream, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { StartedApi, startApi } from '../../api/server.ts';
import { ensureBuilt } from '../../deploy/build.mjs';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { parseConfig } from '../../schemas/config.ts';
import { dropData, type Settings } from './settings.ts';
import { ownBucket, type Service, uniqueEnvironment } from './stack.ts';
import { timed } from './timed.ts';

const require = createRequire(import.meta.url);

interface InProcessApi extends Service {
  stop(): Promise<void>;
}

/** Uses its own database unless the settings name one. */
export const startInProcess = (settings: Settings): Promise<InProcessApi> =>
  timed('start', async () => {
    const { startApi: start } = require(join(await ensureBuilt(), 'api.cjs')) as {
      startApi: typeof startApi;
    };
    const isShared = settings.HEADRACE_MONGO_DATABASE !== undefined;
    const bucket = settings.HEADRACE_S3_BUCKET ? {} : await ownBucket();
    const [port, metricsPort] = [String(await anyFreePort()), String(await anyFreePort())];
    const ports = { HEADRACE_API_PORT: port, HEADRACE_API_METRICS_PORT: metricsPort };
    const env = { ...uniqueEnvironment(), ...bucket, ...settings, ...ports };
    const log = join(mkdtempSync(join(inject('scratch'), 'logs-')), 'api.log');
    const output = createWriteStream(log);
    const api: StartedApi = await start(
      parseConfig(env, 'api'),
      createLogger({ logLevel: 'info' }, 'api', output),
    );
    await api.connected;
    return {
      apiUrl: api.url,
      metricsUrl: api.metricsUrl,
      pipelineUrl: '',
      env,
      config: parseConfig(env),
      log: () => log,
      stop: () =>
        timed('stop', async () => {
          for (const [, step] of api.stopping) await step();
          output.end();
          if (!isShared) await dropData(env);
        }),
    };
  });
