/** The real service for a benchmark: its own servers and both processes, with default settings, in a temporary folder. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provisionPartner } from '../../api/provisioning/provision-partner.ts';
import { createApiStores } from '../../api/stores/api-stores.ts';
import type { Environment } from '../../deploy/local/addresses.ts';
import { stopProcess } from '../../deploy/local/child.ts';
import { type Cluster, type ProcessName, processesOf } from '../../deploy/local/names.ts';
import { anyPorts } from '../../deploy/local/ports.ts';
import { apiUrl, serviceEnvironment, serviceProcess } from '../../deploy/local/service.ts';
import { bringUp } from '../../deploy/local/stack.ts';
import { clusterOf, type StateFolder } from '../../deploy/local/state.ts';
import {
  ensureRunning,
  type Run,
  runningProcess,
  type Startable,
  settlePorts,
} from '../../deploy/local/supervise.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { type AttributeDocument, type CounterDocument, collections } from '../../schemas/documents.ts';
import { guard } from '../support/guard.ts';
import { removeStack } from '../support/remove-stack.ts';
import { cleanEnvironment } from '../support/run-headrace.ts';
import { createPartnerCalls } from './partner-calls.ts';
import type { Progress } from './progress.ts';

const headrace = fileURLToPath(new URL('../../deploy/headrace.mjs', import.meta.url));

const STOP_MS = 30_000;

interface BenchStackOptions {
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
  readonly cluster: Cluster;
  /** Settings that differ from the defaults. */
  readonly settings?: Environment;
  /** Folder for the CPU profiles that the pipeline writes when it exits. */
  readonly profileTo?: string;
}

type BenchStack = Awaited<ReturnType<typeof startBenchStack>>;

/** A scenario's environment. */
export interface Bench {
  readonly stack: BenchStack;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

function profiled(startable: Startable, directory: string): Startable {
  mkdirSync(directory, { recursive: true });
  return {
    ...startable,
    async prepare(folder) {
      const { args, ...command } = await startable.prepare(folder);
      return { ...command, args: ['--cpu-prof', `--cpu-prof-dir=${directory}`, ...args] };
    },
  };
}

function startProcesses(env: Environment, profileTo: string | undefined) {
  return async (run: Run) => {
    const pipeline = serviceProcess('pipeline', env, headrace);
    const both = [
      serviceProcess('api', env, headrace),
      profileTo === undefined ? pipeline : profiled(pipeline, profileTo),
    ];
    for (const { ports } of both) await settlePorts(run, ports);
    for (const one of both) await ensureRunning(run, one);
  };
}

function pidsOf(folder: StateFolder): Record<ProcessName, number> {
  const pids = processesOf(clusterOf(folder.state)).map((name) => [name, folder.state.processes[name]!.pid]);
  return Object.fromEntries(pids) as Record<ProcessName, number>;
}

export async function startBenchStack({
  report,
  signal,
  cluster,
  settings: given = {},
  profileTo,
}: BenchStackOptions) {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
  const release = guard(directory);
  // Without the caller's settings: the benchmark measures the defaults.
  const env = { ...cleanEnvironment(), ...given };
  const purge = async () => {
    await removeStack(directory);
    await release();
  };
  try {
    const { folder, addresses } = await bringUp(
      { directory, report, signal, env, wantedPorts: anyPorts, ...cluster },
      startProcesses(env, profileTo),
    );
    const settings = serviceEnvironment(folder, env);
    const config = parseConfig(settings);
    const mongo = await connectMongo(config);
    const { db } = mongo;
    await ensureIndexes(db);
    const stores = createApiStores(db);
    const partner = await provisionPartner(stores, config, 'Bench');
    return {
      directory,
      addresses,
      config,
      /** The environment of the service's processes. */
      settings,
      db,
      partner,
      calls: createPartnerCalls(apiUrl(folder), partner.api_key),
      metricsUrl: `http://127.0.0.1:${folder.state.ports.pipeline}/metrics`,
      pids: pidsOf(folder),
      /** The data folder of Kafka, or of the first broker; it is missing if Kafka runs elsewhere. */
      kafkaLogs: join(folder.data('kafka'), 'logs'),

      /** Writes them in bulk: one transaction each would take a minute for 20,000. */
      async attributes(count: number, owner = partner): Promise<number[]> {
        const counter = await db
          .collection<CounterDocument>(collections.counters)
          .findOneAndUpdate(
            { _id: 'attributes' },
            { $inc: { value: count } },
            { upsert: true, returnDocument: 'after' },
          );
        const ids = Array.from({ length: count }, (_, i) => counter!.value - count + 1 + i);
        const documents = ids.map((id) => ({
          _id: id,
          partner: owner.partner_id,
          name: `Bench ${id}`,
          sequence: id,
          createdAt: new Date(),
        }));
        await db.collection<AttributeDocument>(collections.attributes).insertMany(documents);
        return ids;
      },

      /** For scenarios that start their own pipelines. */
      async stopPipeline(): Promise<void> {
        const running = runningProcess(folder, 'pipeline');
        if (running) await stopProcess(running, STOP_MS);
      },

      /** Creates another partner, which works concurrently. */
      async anotherPartner() {
        const other = await provisionPartner(stores, config, 'Another');
        return { partner: other, calls: createPartnerCalls(apiUrl(folder), other.api_key) };
      },

      /** Stops everything; with `keep`, leaves it running. */
      async stop({ keep = false } = {}): Promise<void> {
        await mongo.close();
        if (keep) await release();
        else await purge();
      },
    };
  } catch (error) {
    await purge();
    throw error;
  }
}
