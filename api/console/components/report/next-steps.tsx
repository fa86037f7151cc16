import { audiencePath } from '../../../client/client.ts';
import type { Audience, Session } from '../../../client/types.ts';
import { clearAudience, downloadRejects } from '../../curl.ts';
import { CopyCurl } from '../copy-curl.tsx';

interface Props {
  audience: Audience;
  session: Session;
  hasFiles: boolean;
  hasRejects: boolean;
}

/** Shown to partners only. */
export function NextSteps({ audience, session, hasFiles, hasRejects }: Props) {
  const id = audience.audience_id;
  const canLoad = session.scopes.includes('audience');
  if (!canLoad && !hasFiles) return null;
  return (
    <section class="screen-only">
      <h2>Next steps</h2>
      {canLoad && (
        <div class="actions">
          <a class="button primary" href={`/console/upload?as=append&audience=${id}`}>
            Add devices
          </a>
          <span class="quiet">Devices already in the audience are not added twice.</span>
        </div>
      )}
      {hasRejects && (
        <CopyCurl
          title="Download the rejected rows"
          note="Correct the rows, upload them as a new file, and add that file to the audience."
          command={downloadRejects(location.origin, `${audiencePath}/${id}`)}
        />
      )}
      {hasFiles && (
        <CopyCurl
          title="Clear the audience"
          note="Permanently removes all devices and files at once."
          command={clearAudience(location.origin, id)}
        />
      )}
    </section>
  );
}
