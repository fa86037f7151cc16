/** Another writer has changed what is being read or changed. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A page named by the manifest is gone: another writer has replaced it. */
export class Raced extends Error {}

/** Other writers were faster in every attempt. */
export class ContendedError extends Error {
  readonly code = 'contended';
  readonly retriable = true;

  constructor(manifest: string) {
    super(`${manifest} was changed by other writers in every attempt`);
    this.name = 'ContendedError';
  }
}

const ATTEMPTS = 30;
const MAX_WAIT_MS = 200;

/** What beat us may not be visible to majority reads yet; and two that collide should not do so in step. */
export async function waitAfterLoss(attempt: number, manifest: string): Promise<void> {
  if (attempt === ATTEMPTS) throw new ContendedError(manifest);
  await sleep(Math.random() * Math.min(2 ** attempt, MAX_WAIT_MS));
}
