/** Exceptions from the check of dependencies, with reasons. */

/** Production dependencies that are deprecated or without a recent release. */
export const unmaintained: Readonly<Record<string, string>> = {
  kafkajs:
    'No release since 2023. It works with Kafka 4; its known faults are patched in pipeline/kafka/patched-kafkajs.ts and tested, and only pipeline/kafka uses it.',
};

/** Known vulnerabilities that do not affect this service, by advisory. */
export const harmless: Readonly<Record<string, string>> = {};

/** Licences that may be used in a service that is not published. */
export const allowedLicences: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
]);
