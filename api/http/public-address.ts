/** URLs in Location and Link: as partners see the API, possibly through a proxy with another host name. */
import type { Config } from '../../schemas/config.ts';

export function createPublicAddress({ publicUrl }: Pick<Config, 'publicUrl'>) {
  const base = (publicUrl ?? '').replace(/(?<!\/)\/+$/, '');
  return (path: string) => base + path;
}
