/** Certificates of our own CA, made with openssl, for the servers and clients of a secure stack. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from './child.ts';

export interface Signed {
  /** Of the files: `<name>.crt` and `<name>.key`, and `<name>.pem` with both, for mongod and Kafka. */
  readonly name: string;
  /** The CN, which Kafka maps to a user. */
  readonly subject: string;
  /** Lifetime; below 0: expired. */
  readonly days?: number;
}

const LONG = 3_650;
const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc';
const alsoKnownAs = 'subjectAltName=IP:127.0.0.1,DNS:localhost';

/** Paths apart from the words, because they may have spaces. */
const openssl = (words: string, ...paths: string[]) => runTool('openssl', [...words.split(' '), ...paths]);

async function makeAuthority(directory: string): Promise<void> {
  const files = ['-keyout', join(directory, 'ca.key'), '-out', join(directory, 'ca.pem')];
  await openssl(`req -x509 ${newKey} -subj /CN=headrace-ca -days ${LONG}`, ...files);
}

export async function signCertificate(
  directory: string,
  { name, subject, days = LONG }: Signed,
): Promise<void> {
  const file = (ending: string) => join(directory, `${name}.${ending}`);
  const request = `req ${newKey} -subj /CN=${subject} -addext ${alsoKnownAs}`;
  await openssl(request, '-keyout', file('key'), '-out', file('csr'));
  const authority = ['-CA', join(directory, 'ca.pem'), '-CAkey', join(directory, 'ca.key')];
  const files = ['-in', file('csr'), '-out', file('crt')];
  await openssl(`x509 -req -CAcreateserial -days ${days} -copy_extensions copy`, ...authority, ...files);
  writeFileSync(file('pem'), readFileSync(file('key'), 'utf8') + readFileSync(file('crt'), 'utf8'), {
    mode: 0o600,
  });
}

/** Creates the folder atomically: it is renamed when complete. */
export async function ensureCertificates(directory: string, wanted: readonly Signed[]): Promise<void> {
  if (existsSync(directory)) return;
  const unfinished = `${directory}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  await makeAuthority(unfinished);
  for (const one of wanted) await signCertificate(unfinished, one);
  renameSync(unfinished, directory);
}
