import type { Environment } from '../local/addresses.ts';
import { serviceEnvironment } from '../local/service.ts';
import { StartError } from '../local/start-error.ts';
import { readState } from '../local/state.ts';

/** The local stack that a command expects to reach. */
export interface ExpectedStack {
  directory: string;
  /** As recorded in the state folder. */
  installation: string | undefined;
}

export const defaultState = '.headrace';

const serverVariables = [
  'HEADRACE_KAFKA_BROKERS',
  'HEADRACE_MONGO_URL',
  'HEADRACE_S3_ENDPOINT',
  'HEADRACE_S3_BUCKET',
];
export const namesServers = (env: Environment): boolean => serverVariables.some((name) => env[name]);

const isDeployment = (stateDirectory: string | undefined) =>
  stateDirectory === undefined && namesServers(process.env);

/** The stack whose MongoDB the command must have reached; undefined if the environment names the servers. */
export function expectedStack(stateDirectory?: string): ExpectedStack | undefined {
  if (isDeployment(stateDirectory)) return undefined;
  const directory = stateDirectory ?? defaultState;
  return { directory, installation: readState(directory)?.state.installation };
}

/** The servers named by the environment, as in a deployment. Without them, or with a state folder, those of the local stack. */
export function loadEnvironment(stateDirectory?: string): Environment {
  if (isDeployment(stateDirectory)) return process.env;
  const directory = stateDirectory ?? defaultState;
  const folder = readState(directory);
  if (folder?.state.addresses === undefined) {
    const others =
      stateDirectory === undefined ? ', or set HEADRACE_KAFKA_BROKERS, HEADRACE_MONGO_URL and so on' : '';
    throw new StartError(
      'not_started',
      `no stack has been started in ${directory}: run headrace up --state ${directory}${others}`,
    );
  }
  return serviceEnvironment(folder, process.env);
}
