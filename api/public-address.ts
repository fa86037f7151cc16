/** URLs in Location and Link: as partners see the API, possibly through a proxy with another host name. */
import type { Config } from '../schemas/config.ts';

export type PublicAddress = (path: string) => string;

export function createPublicAddress({ publicUrl }: Pick<Config, 'publicUrl'>): PublicAddress {
  const base = (publicUrl ?? '').replace(/\/+$/, '');
  return (path) => base + path;
}
