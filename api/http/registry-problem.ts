/** Errors of the schema registry, in the format and with the codes of Confluent's Schema Registry. */
import type { Problem } from './problem.ts';

export const REGISTRY_TYPE = 'application/vnd.schemaregistry.v1+json';

/** The first three digits of a code are the HTTP status. */
export class RegistryProblem extends Error {
  readonly status: number;
  readonly extra: Problem['extra'] = {};

  constructor(
    readonly errorCode: number,
    message: string,
  ) {
    super(message);
    this.status = Math.floor(errorCode / 100);
  }
}

export const subjectNotFound = (subject: string) =>
  new RegistryProblem(40401, `Subject '${subject}' not found.`);
export const versionNotFound = (version: number) =>
  new RegistryProblem(40402, `Version ${version} not found.`);
export const schemaNotFound = (id: string) => new RegistryProblem(40403, `Schema ${id} not found`);
export const invalidVersion = (version: string) =>
  new RegistryProblem(
    42202,
    `The specified version '${version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest"`,
  );
export const readOnly = () =>
  new RegistryProblem(42205, 'The schema registry is in read-only mode: schemas change with the service.');

const registryPath = /^\/(subjects|schemas|config|mode|compatibility|contexts|associations)(\/|$)/;
export const isRegistryPath = (path: string): boolean => registryPath.test(path);

export const registryBody = (problem: Problem | RegistryProblem): string =>
  JSON.stringify({
    error_code: problem instanceof RegistryProblem ? problem.errorCode : problem.status,
    message: problem.message,
  });
