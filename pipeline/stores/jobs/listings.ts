/** Listings of several pages. A page is stored together with the place behind it: a successor lists on from there. */
import type { Db } from 'mongodb';
import { collections, type FileDocument, type PartialListing } from '../../../schemas/documents.ts';
import { jobCollection } from './jobs.ts';

export type ListingStore = ReturnType<typeof createListingStore>;

export function createListingStore(db: Db) {
  const jobs = jobCollection(db);
  const files = db.collection<FileDocument>(collections.files);

  return {
    /**
     * One transaction, so a page is stored whole and once. False: this page, or the job itself, has been taken
     * further already.
     */
    addPage: (
      job: number,
      before: PartialListing | undefined,
      listed: PartialListing,
      documents: FileDocument[],
    ): Promise<boolean> =>
      db.client.withSession((session) =>
        session.withTransaction(async () => {
          const unchanged = before
            ? { 'listed.listing': before.listing, 'listed.after': before.after }
            : { listed: { $exists: false } };
          const { matchedCount } = await jobs.updateOne(
            { _id: job, phase: 'accepted', ...unchanged },
            { $set: { listed } },
            { session },
          );
          if (matchedCount === 0) return false;
          if (documents.length > 0) await files.insertMany(documents, { session, ordered: false });
          return true;
        }),
      ),
  };
}
