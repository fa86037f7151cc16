/** The disk of Kafka and mongod full in the middle of jobs: no false answer, and all goes on when there is room and they are started again. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Asked, Lane, Request } from './support/lane.ts';
import { roundSeed } from './support/random.ts';
import { type OwnServers, startOwnServers } from './support/servers.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const random = roundSeed('disk-full');
const SIZE = '1500m';
const FULL_MS = 6_000;

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
  const logs = mkdtempSync(join(tmpdir(), 'headrace-logs-'));
  service = await startFaultService(servers.addresses, { logs, random: random.fork() });
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
  for (let i = 0; i < 12; i++)
    requests.push(
      { kind: 'import', path: await lane.upload('attributes', 4_000), compressed: null, own: i % 3 === 0 },
      { kind: 'create', path: await lane.upload('audience', 2_000) },
    );
  return requests;
}

const free = () => {
  const { bavail, bsize } = statfsSync(disk!);
  return bavail * bsize;
};

it.skipIf(!disk)('no room left, and room again', { timeout: 180_000 }, async () => {
  const prepared = await Promise.all(service.lanes.map(prepare));
  const asking = Promise.all(
    service.lanes.map(async (lane, n) => {
      const answers: Asked[] = [];
      for (const request of prepared[n]!) {
        answers.push(await lane.ask(request));
        await sleep(100);
      }
      return answers;
    }),
  );
  await service.answered(4);
  const ballast = join(disk!, 'ballast');
  const fill = () => {
    const piece = Buffer.alloc(1_048_576, 1);
    try {
      while (free() > 0) writeFileSync(ballast, piece, { flag: 'a' });
    } catch {
      // Full.
    }
  };
  const until = performance.now() + FULL_MS;
  while (performance.now() < until) {
    fill();
    await sleep(50);
  }
  expect(service.counts.unanswered, 'requests refused while there was no room').toBeGreaterThan(0);
  rmSync(ballast);
  await servers.revive();
  await asking;
  expect(await violationsOf(service.driver, service.lanes, { swept: false })).toEqual([]);
});
