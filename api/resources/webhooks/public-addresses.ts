/**
 * Webhooks are sent to public unicast addresses only, so that no partner reaches our network through us. A name is resolved once per
 * attempt and the connection uses that address, which rules out DNS rebinding.
 */
import { lookup as lookupName, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface Address {
  address: string;
  family: number;
}
export type Lookup = (hostname: string) => Promise<Address[]>;

export class ForbiddenAddress extends Error {
  readonly code = 'forbidden_address';
}

/** Global unicast: `unicast` of the library also has the unassigned IPv6 blocks outside 2000::/3. */
const global6 = ipaddr.parseCIDR('2000::/3');

export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(global6));
}

/** The host of a URL, with IPv6 addresses out of their brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** Not getaddrinfo: a partner's silent name server would block one of the few libuv threads. */
const resolver = new Resolver({ timeout: 2_000, tries: 2 });
const resolveName: Lookup = async (hostname) => {
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  const some = (result: PromiseSettledResult<string[]>, family: number) =>
    result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
  return [...some(four, 4), ...some(six, 6)];
};
/** Test installations also need names from /etc/hosts. */
const lookUpHere: Lookup = (hostname) => lookupName(hostname, { all: true });

/** Returns the address to connect to. Refuses a name if any of its addresses is not public. */
export function createResolve(
  allowPrivate: boolean,
  lookup: Lookup = allowPrivate ? lookUpHere : resolveName,
) {
  return async (url: URL): Promise<Address> => {
    const host = hostOf(url);
    const literal = isIP(host);
    const found = literal === 0 ? await lookup(host) : [{ address: host, family: literal }];
    const [first] = found;
    if (!first) throw new Error(`${host} has no address`);
    if (!allowPrivate && !found.every(({ address }) => isPublicAddress(address)))
      throw new ForbiddenAddress(`${host} has an address that is not public`);
    return first;
  };
}

/** What is wrong with a webhook's URL, without resolving its name. */
export function webhookUrlProblem(text: string, allowPrivate: boolean): string | undefined {
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  if (url.hash !== '') return 'must not have a fragment';
  if (allowPrivate) return undefined;
  if (url.protocol !== 'https:') return 'must be an https URL';
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'must not be a private address';
  return undefined;
}
