import { audiencePath } from '../../../client/client.ts';
import type { Audience, Session } from '../../../client/types.ts';
import { appendFile, clearAudience, downloadRejects } from '../../curl.ts';
import { CopyCurl } from '../copy-curl.tsx';

export function NextSteps({
  audience,
  session,
  hasRejects,
}: {
  audience: Audience;
  session: Session;
  hasRejects: boolean;
}) {
  const target = { origin: location.origin, forCustomer: session.customer !== null };
  const id = audience.audience_id;
  return (
    <section class="screen-only">
      <h2>Next steps</h2>
      <CopyCurl
        title="Add more devices"
        note="Loads another file or folder into this audience. Devices that it has already are not counted twice."
        command={appendFile(target, id, 'summer/day-2.csv')}
      />
      {hasRejects && (
        <CopyCurl
          title="Download the rejected rows"
          note="Correct the rows, upload them as a new file, and add that file to the audience."
          command={downloadRejects(target, `${audiencePath}/${id}`)}
        />
      )}
      <CopyCurl
        title="Empty the audience"
        note="Removes every device and file at once. This cannot be undone."
        command={clearAudience(target, id)}
      />
    </section>
  );
}
