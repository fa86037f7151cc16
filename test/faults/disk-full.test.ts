/**
 * The disk of Kafka and mongod full in the middle of jobs: both end, no answer is false, and all goes on when there is room and they
 * are started again.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import type { Lane, Request } from './support/lane.ts';
import { newLogFolder } from './support/logs.ts';
import { roundSeed } from './support/random.ts';
import { type OwnServers, startOwnServers } from './support/servers.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const random = roundSeed('disk-full');
const SIZE = '800m';
const PIECE_BYTES = 1_000_000;

/** Needs to be root, and a kernel that lets us; without, there is no small disk to fill. */
function mountSmallDisk(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', directory], { stdio: 'pipe' });
    return directory;
  } catch (error) {
    rmSync(directory, { recursive: true });
    console.info(
      `disk-full: skipped, no small disk can be mounted: ${(error as Error).message.split('\n').at(-2)}`,
    );
    return undefined;
  }
}

const disk = mountSmallDisk();
let servers: OwnServers;
let service: FaultService;
beforeAll(async () => {
  if (!disk) return;
  servers = await startOwnServers({ directory: join(disk, 'servers') });
  // The logs of our own processes are not the fault.
  service = await startFaultService(servers.addresses, { logs: newLogFolder(), random: random.fork() });
});
afterAll(async () => {
  await service?.close();
  await servers?.close();
  if (!disk) return;
  execFileSync('umount', ['-l', disk]);
  rmSync(disk, { recursive: true, force: true });
});

/** S3 lies on the same disk: what is asked for while it is full has been uploaded before. */
async function prepare(lane: Lane): Promise<Request[]> {
  const requests: Request[] = [];
  for (let i = 0; i < 8; i++)
    requests.push(
      { kind: 'import', path: await lane.upload('attributes', 3_000), compressed: null, own: i % 3 === 0 },
      { kind: 'create', path: await lane.upload('audience', 2_000) },
    );
  return requests;
}

const ballast = () => join(disk!, 'ballast');

/** Takes what is left, to the last block; again and again, because what is given back is taken anew. */
function fill(): void {
  for (const bytes of [PIECE_BYTES, statfsSync(disk!).bsize]) {
    const piece = Buffer.alloc(bytes, 1);
    try {
      for (;;) appendFileSync(ballast(), piece);
    } catch {
      // Full.
    }
  }
}

/** A mongod notices when it next needs a new block: at its next checkpoint, which comes once a minute, or when asked for. */
const checkpoint = () => service.driver.db.admin().command({ fsync: 1 }, { timeoutMS: 500 });

it.skipIf(!disk)('no room left, and room again', async () => {
  const prepared = await Promise.all(service.lanes.map(prepare));
  const asking = Promise.all(
    service.lanes.map(async (lane, n) => {
      for (const request of prepared[n]!) {
        await lane.ask(request);
        await sleep(100);
      }
    }),
  );
  await service.answered(4);
  try {
    const isStruck = async () => {
      fill();
      await checkpoint().catch(() => {});
      return !servers.runs('kafka') && !servers.runs('mongod') && service.counts.unanswered > 0;
    };
    await waitFor(isStruck, { what: 'Kafka and mongod to end for want of room, and requests to be refused' });
  } finally {
    rmSync(ballast());
  }
  await servers.revive();
  await asking;
  expect(await violationsOf(service.driver, service.lanes, { swept: false })).toEqual([]);
});
