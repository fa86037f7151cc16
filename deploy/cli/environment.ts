import type { Environment } from '../local/addresses.ts';
import { serviceEnvironment } from '../local/service.ts';
import { StartError } from '../local/start-error.ts';
import { readState } from '../local/state.ts';

export const defaultState = '.headrace';

/** The environment of the local stack in a state folder; without a folder, the environment of this process, as in a deployment. */
export function loadEnvironment(stateDirectory?: string): Environment {
  if (stateDirectory === undefined) return process.env;
  const folder = readState(stateDirectory);
  if (folder?.state.addresses === undefined) {
    throw new StartError(
      'not_started',
      `no stack has been started in ${stateDirectory}: run headrace up --state ${stateDirectory}`,
    );
  }
  return serviceEnvironment(folder, process.env);
}
