/**
 * The disk of Kafka and mongod fills up while jobs run: both servers exit, no response is wrong, and the service resumes once there
 * is space and the servers are restarted.
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

/** Needs root and a kernel that allows mounts; otherwise there is no small disk to fill. */
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
  // The processes' logs are on another disk: only the servers' disk is full.
  service = await startFaultService(servers.addresses, { logs: newLogFolder(), random: random.fork() });
});
afterAll(async () => {
  await service?.close();
  await servers?.close();
  if (!disk) return;
  execFileSync('umount', ['-l', disk]);
  rmSync(disk, { recursive: true, force: true });
});

/** S3 is on the same disk, so files are uploaded before the disk fills up. */
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

/** Fills the disk to the last block. Called repeatedly, because the servers free space. */
function fill(): void {
  for (const bytes of [PIECE_BYTES, statfsSync(disk!).bsize]) {
    const piece = Buffer.alloc(bytes, 1);
    try {
      for (;;) appendFileSync(ballast(), piece);
    } catch {
      // ENOSPC: continue with smaller pieces.
    }
  }
}

/** Makes mongod notice: it needs a new block only at a checkpoint, which comes once a minute or on fsync. */
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
