/** Listings, heads and bodies quote an ETag or not as they like; here it is always without. */
export const plainEtag = (etag: string | undefined): string => (etag ?? '').replace(/^(W\/)?"|"$/g, '');
