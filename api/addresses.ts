/** Addresses in Location and Link: as partners reach us, which may be through a proxy under another name. */
import type { Config } from '../schemas/config.ts';

export type PublicAddress = (path: string) => string;

export function createPublicAddress({ publicUrl }: Pick<Config, 'publicUrl'>): PublicAddress {
  const base = (publicUrl ?? '').replace(/\/+$/, '');
  return (path) => base + path;
}

/** The client's network. An IPv6 client has a whole /64 to choose its address from. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  while (groups.length < 8 - after) groups.push('0');
  return groups.slice(0, 4).join(':');
}
