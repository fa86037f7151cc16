/** Commands to paste into a shell. Secrets are placeholders, never values. */
import { audiencePath, importPath } from '../client/client.ts';
import type { ImportLog } from '../client/types.ts';

export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Request {
  method?: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  body?: object;
  saveAs?: string;
}

export function curl(origin: string, { method, path, body, saveAs }: Request): string {
  const lines = [`curl ${method ? `-X ${method} ` : ''}${quote(origin + path)}`];
  lines.push('-H "Authorization: Bearer $API_KEY"');
  if (body) lines.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body))}`);
  if (saveAs) lines.push(`-o ${quote(saveAs)}`);
  return lines.join(' \\\n  ');
}

export const clearAudience = (origin: string, audience: number) =>
  curl(origin, { method: 'PUT', path: `${audiencePath}/${audience}` });

export const downloadRejects = (origin: string, path: string) =>
  curl(origin, { path: `${path}/rejects`, saveAs: 'rejects.ndjson' });

const ownCredentials = {
  accessKeyId: 'YOUR_ACCESS_KEY_ID',
  secretAccessKey: 'YOUR_SECRET_ACCESS_KEY',
  region: 'YOUR_REGION',
};

/** `filePath`: may differ, because a corrected file is a new file. */
export function submitAgain(origin: string, { key_type, path_type }: ImportLog, filePath: string): string {
  const fields = { file_path: filePath, key_type, ...(filePath.endsWith('/') ? { compressed: 'auto' } : {}) };
  const own = { path_type, credentials: ownCredentials };
  return curl(origin, { method: 'POST', path: importPath, body: { ...fields, ...(path_type === 1 && own) } });
}

export const deleteAgain = (origin: string, { key_type, keys }: ImportLog) =>
  curl(origin, { method: 'DELETE', path: importPath, body: { key_type, keys } });
