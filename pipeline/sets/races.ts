/** Conflicts with concurrent writers. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A page in the manifest is gone: another writer has replaced it. */
export class Raced extends Error {}

/** Every compare-and-set lost against another writer. */
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

/** Backoff with jitter. The write that won may not be visible to majority reads yet, and two writers should not collide in lockstep. */
export async function waitAfterLoss(attempt: number, manifest: string): Promise<void> {
  if (attempt === ATTEMPTS) throw new ContendedError(manifest);
  await sleep(Math.random() * Math.min(2 ** attempt, MAX_WAIT_MS));
}
