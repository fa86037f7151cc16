/** Addresses in Location and Link: as partners reach us, which may be through a proxy under another name. */
import type { Config } from '../schemas/config.ts';

export type PublicAddress = (path: string) => string;

export function createPublicAddress({ publicUrl }: Pick<Config, 'publicUrl'>): PublicAddress {
  const base = (publicUrl ?? '').replace(/\/+$/, '');
  return (path) => base + path;
}
