/** What the check of dependencies lets pass, and why. */

/** Production dependencies that are deprecated, or have had no release for long. */
export const unmaintained: Readonly<Record<string, string>> = {
  kafkajs:
    'No release since 2023. It works with Kafka 4; its known faults are patched in pipeline/kafka/patched-kafkajs.ts and tested, and it is used by pipeline/kafka alone.',
};

/** Known vulnerabilities that do not concern this service, by advisory. */
export const harmless: Readonly<Record<string, string>> = {};

/** Packages with install scripts. `.npmrc` runs none of them; this is what each would have done. */
export const installScripts: Readonly<Record<string, string>> = {
  '@scarf/scarf': 'Reports the installation to its maker.',
  'cpu-features': 'Compiles an optional addon of ssh2.',
  esbuild: 'Replaces a launcher by the binary, which is started directly as well.',
  protobufjs: 'Warns of version ranges.',
  ssh2: 'Compiles an optional addon; the JavaScript does the same.',
};

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
