/** Share links: show one report to anyone with the link until it expires. Encrypted and authenticated, so they cannot be forged. */
import { z } from 'zod';
import { seal, UnsealError, unseal } from '../../pipeline/runtime/seal.ts';

const shareLink = z.strictObject({
  partner: z.string(),
  audience: z.number(),
  /** The API key that created it: the link ends with the key. */
  key: z.string(),
  /** Milliseconds since 1970. */
  expiresAt: z.number(),
});
export type ShareLink = Readonly<z.output<typeof shareLink>>;

const LINK = 'share link';
const SENDER = 'sender of a link';
const MAX_LENGTH = 1_000;

const sealText = (secret: Uint8Array, text: string, context: string): string =>
  seal(secret, text, context).toString('base64url');

/** Undefined if forged or altered. */
function openText(secrets: readonly Uint8Array[], sealed: string, context: string): string | undefined {
  if (sealed.length > MAX_LENGTH || !/^[\w-]+$/.test(sealed)) return undefined;
  try {
    return unseal(secrets, Buffer.from(sealed, 'base64url'), context);
  } catch (error) {
    if (error instanceof UnsealError) return undefined;
    throw error;
  }
}

export const sealShareLink = (secret: Uint8Array, link: ShareLink): string =>
  sealText(secret, JSON.stringify(link), LINK);

/** Opens an expired link too, because it still names its sender. */
export function openShareLink(secrets: readonly Uint8Array[], sealed: string): ShareLink | undefined {
  const text = openText(secrets, sealed, LINK);
  return text === undefined ? undefined : shareLink.parse(JSON.parse(text));
}

/** Names the sender of an ended link on the page that says whom to ask. Sealed, so that the name cannot be made up. */
export const sealSender = (secret: Uint8Array, partner: string): string => sealText(secret, partner, SENDER);

export const openSender = (secrets: readonly Uint8Array[], sealed: string): string | undefined =>
  openText(secrets, sealed, SENDER);
