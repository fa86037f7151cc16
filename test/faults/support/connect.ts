import { parseConfig } from '../../../schemas/config.ts';
import { createDriver, type Driver } from '../../support/driver.ts';
import type { Settings } from '../../support/settings.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A busy broker may not know a topic yet that it has just made; our processes ask again, and so does this. */
export function connectDriver(settings: Settings): Promise<Driver> {
  return waitFor(() => createDriver(parseConfig(settings)), { what: 'a connected driver', everyMs: 500 });
}
