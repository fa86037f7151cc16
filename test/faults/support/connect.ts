import { parseConfig } from '../../../schemas/config.ts';
import { createDriver, type Driver } from '../../support/driver.ts';
import type { Settings } from '../../support/settings.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A busy broker may not yet know a topic that it has just created; like our processes, the driver retries. */
export function connectDriver(settings: Settings): Promise<Driver> {
  return waitFor(() => createDriver(parseConfig(settings)), { what: 'a connected driver', everyMs: 500 });
}
