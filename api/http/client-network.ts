/** The network that a client is counted under. An IPv6 client can use any address of its /64, so the /64 is counted. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  while (groups.length < 8 - after) groups.push('0');
  return groups.slice(0, 4).join(':');
}
