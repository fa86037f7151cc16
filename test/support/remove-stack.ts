import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { takeDown } from '../../deploy/local/stack.ts';

/** Stops everything that runs in a state folder and its subfolders, and deletes the folder. */
export async function removeStack(directory: string): Promise<void> {
  if (!existsSync(directory)) return;
  const inside = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of inside)
    if (existsSync(join(directory, name, 'state.json')))
      await takeDown(join(directory, name), () => {}, { purge: true });
  await takeDown(directory, () => {}, { purge: true });
  rmSync(directory, { recursive: true, force: true });
}
