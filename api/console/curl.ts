/** Commands to paste into a shell. Secrets are placeholders, never values. */
import { audiencePath, importPath } from '../client/client.ts';
import type { ImportLog } from '../client/types.ts';

export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export interface Target {
  origin: string;
  /** A customer's token has to be sent with the partner's key. */
  forCustomer: boolean;
}

interface Request {
  method?: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  body?: object;
  saveAs?: string;
}

export function curl({ origin, forCustomer }: Target, { method, path, body, saveAs }: Request): string {
  const lines = [`curl ${method ? `-X ${method} ` : ''}${quote(origin + path)}`];
  lines.push('-H "Authorization: Bearer $API_KEY"');
  if (forCustomer) lines.push('-H "x-user-token: $USER_TOKEN"');
  if (body) lines.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body))}`);
  if (saveAs) lines.push(`-o ${quote(saveAs)}`);
  return lines.join(' \\\n  ');
}

export const appendFile = (target: Target, audience: number, filePath: string) =>
  curl(target, { method: 'PATCH', path: `${audiencePath}/${audience}`, body: { file_path: filePath } });

export const clearAudience = (target: Target, audience: number) =>
  curl(target, { method: 'PUT', path: `${audiencePath}/${audience}` });

export const downloadRejects = (target: Target, path: string) =>
  curl(target, { path: `${path}/rejects`, saveAs: 'rejects.ndjson' });

const ownCredentials = {
  accessKeyId: 'YOUR_ACCESS_KEY_ID',
  secretAccessKey: 'YOUR_SECRET_ACCESS_KEY',
  region: 'YOUR_REGION',
};

/** With another path: a file that was corrected is a new file. */
export function submitAgain(target: Target, { key_type, path_type }: ImportLog, filePath: string): string {
  const fields = { file_path: filePath, key_type, ...(filePath.endsWith('/') ? { compressed: 'auto' } : {}) };
  const own = { path_type, credentials: ownCredentials };
  return curl(target, { method: 'POST', path: importPath, body: { ...fields, ...(path_type === 1 && own) } });
}

export const deleteAgain = (target: Target, { key_type, keys }: ImportLog) =>
  curl(target, { method: 'DELETE', path: importPath, body: { key_type, keys } });
