/** Views of manifests in the raw reply of the server: a search reads a million of them, which the driver would take 15 s to decode. */
import { BINARY, documentsIn, OBJECT, STRING } from './page-reply.ts';

/** The fields that a search for devices reads. */
export const searchedFields = { _id: 0, space: 1, addresses: 1, erasing: 1, placement: 1 } as const;

export interface SearchedManifest {
  /** Shared by many manifests. */
  reply: Buffer;
  /** Offsets of the space and of the placement, and of their ends. */
  space: number;
  spaceEnd: number;
  placement: number;
  placementEnd: number;
  /** 0: absent. */
  addresses: number;
  addressesEnd: number;
  /** Pages may hold devices whose addresses are no longer listed. */
  isErasing: boolean;
}

const [S, P, A, E] = ['s', 'p', 'a', 'e'].map((name) => name.charCodeAt(0));

export const spaceIn = ({ reply, space, spaceEnd }: SearchedManifest): string =>
  reply.toString('latin1', space, spaceEnd);

/** `cursor` is that field of a reply, in BSON. */
export function* manifestsIn(cursor: Buffer): Generator<SearchedManifest> {
  for (const document of documentsIn(cursor)) yield manifestAt(cursor, document);
}

function manifestAt(reply: Buffer, document: number): SearchedManifest {
  const found: SearchedManifest = {
    ...{ reply, space: 0, spaceEnd: 0, placement: 0, placementEnd: 0 },
    ...{ addresses: 0, addressesEnd: 0, isErasing: false },
  };
  for (let at = document + 4; reply[at] !== 0; ) {
    const type = reply[at];
    const name = reply[at + 1];
    while (reply[++at] !== 0);
    const value = at + 1;
    const length = reply.readInt32LE(value);
    if (type === STRING && name === S) {
      found.space = value + 4;
      at = found.space + length;
      found.spaceEnd = at - 1;
    } else if (type === STRING && name === P) {
      found.placement = value + 4;
      at = found.placement + length;
      found.placementEnd = at - 1;
    } else if (type === BINARY && name === A) {
      // Between the length and the bytes is the subtype.
      found.addresses = value + 5;
      at = found.addresses + length;
      found.addressesEnd = at;
    } else if (type === OBJECT && name === E) {
      found.isErasing = true;
      at = value + length;
    } else throw new TypeError(`a manifest has a field of type ${type}`);
  }
  return found;
}
