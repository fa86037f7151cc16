import type { Session } from '../../client/types.ts';

/** Shown if the session may load files. */
export function UploadLink({ session, as }: { session: Session; as: 'import' | 'audience' }) {
  if (!session.scopes.includes(as)) return null;
  return (
    <a class="button primary" href={`/console/upload?as=${as}`}>
      Upload a file
    </a>
  );
}
