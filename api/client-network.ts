/** The network that a client comes from, to count by. An IPv6 client has a whole /64 to choose its address from. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  while (groups.length < 8 - after) groups.push('0');
  return groups.slice(0, 4).join(':');
}
