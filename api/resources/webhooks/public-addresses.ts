/**
 * Where webhooks may be sent to: public unicast addresses and no others, so that nobody reaches our own network through us. A name
 * is resolved once for each attempt, and the connection is made to that address: a name that changes in between changes nothing.
 */
import { lookup as lookupName, Resolver } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

export interface Address {
  address: string;
  family: number;
}
export type Lookup = (hostname: string) => Promise<Address[]>;

export class ForbiddenAddress extends Error {
  readonly code = 'forbidden_address';
}

/** IANA's registry of special-purpose addresses, and multicast. */
const special4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
  224.0.0.0/4 240.0.0.0/4`;
/** What is outside of this is no global unicast: loopback, link-local, unique local, multicast, IPv4-mapped, NAT64. */
const global6 = '2000::/3';
const special6 = '2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20';

function listOf(networks: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks.split(/\s+/)) {
    const [address, prefix] = network.split('/') as [string, string];
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
const notPublic4 = listOf(special4, 'ipv4');
const unicast6 = listOf(global6, 'ipv6');
const notPublic6 = listOf(special6, 'ipv6');

export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !notPublic4.check(address, 'ipv4');
  if (isIP(address) !== 6 || address.includes('%')) return false;
  return unicast6.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6');
}

/** Of a URL: IPv6 addresses are in brackets there. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/**
 * By the name servers. The system's own look-up occupies one of the few threads of the process for as long as a name server does not
 * answer, and a partner could see to it that his does not.
 */
const resolver = new Resolver({ timeout: 2_000, tries: 2 });
const resolveName: Lookup = async (hostname) => {
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  const some = (result: PromiseSettledResult<string[]>, family: number) =>
    result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
  return [...some(four, 4), ...some(six, 6)];
};
/** Where private addresses are allowed, names of the machine itself are. */
const lookUpHere: Lookup = (hostname) => lookupName(hostname, { all: true });

/** The address to connect to. Refused if any of those that the name has is not public: there is no honest reason for both. */
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

/** What is wrong with the URL of a webhook, as far as that can be told without resolving its name. */
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
