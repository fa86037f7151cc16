/** Uploads a file and loads it, as an import or as an audience. */
import { useState } from 'preact/hooks';
import { audiencePath } from '../../client/client.ts';
import type { Audience, Session } from '../../client/types.ts';
import { read } from '../api-client.ts';
import { Choice, Problem } from '../components/basics.tsx';
import { DropZone } from '../components/load/drop-zone.tsx';
import { LoadSteps } from '../components/load/load-steps.tsx';
import { useTitle } from '../hooks.ts';
import type { Target } from '../load.ts';
import { useQuery } from '../query.ts';
import { NoScopePage } from './notices.tsx';

type Kind = Target['kind'];

const kinds: { value: Kind; scope: 'import' | 'audience'; label: string; note: string }[] = [
  { value: 'import', scope: 'import', label: 'Import', note: 'devices with the keys of your attributes' },
  { value: 'audience', scope: 'audience', label: 'New audience', note: 'devices, optionally with events' },
  {
    value: 'append',
    scope: 'audience',
    label: 'Add to an audience',
    note: 'devices already in the audience are not added twice',
  },
];
const keyTypes = [
  { value: 0, label: 'Attribute ids', note: 'numbers that the service assigned' },
  { value: 1, label: 'Your own keys', note: 'partner_foreign_key' },
] as const;
const actions: Record<Kind, string> = {
  import: 'Import',
  audience: 'Create audience',
  append: 'Add to audience',
};

/** The newest audiences; for older ones there is the command line. */
const LISTED = 200;

export function UploadPage({ session, query }: { session: Session; query: URLSearchParams }) {
  useTitle('Upload');
  const allowed = kinds.filter(({ scope }) => session.scopes.includes(scope));
  const asked = allowed.find(({ value }) => value === query.get('as'));
  const [kind, setKind] = useState<Kind>((asked ?? allowed[0])?.value ?? 'import');
  const [file, setFile] = useState<File>();
  const [refusal, setRefusal] = useState('');
  const [keyType, setKeyType] = useState<0 | 1>(query.get('key_type') === '1' ? 1 : 0);
  const [name, setName] = useState('');
  const [audience, setAudience] = useState(query.get('audience') ?? '');
  const [started, setStarted] = useState<{ file: File; target: Target }>();
  const listPath = `${audiencePath}?limit=${LISTED}`;
  const audiences = useQuery(
    kind === 'append' ? listPath : null,
    async (signal) => (await read<Audience[]>(listPath, signal)).data,
  );

  if (allowed.length === 0) return <NoScopePage scope="import or audience" />;
  if (started)
    return (
      <>
        <h1>Upload</h1>
        <LoadSteps
          {...started}
          action={actions[started.target.kind]}
          onCancel={() => setStarted(undefined)}
        />
      </>
    );

  const chosen = audiences.data?.find(({ audience_id }) => String(audience_id) === audience);
  const targetOf = (): Target | undefined => {
    if (kind === 'import') return { kind, keyType };
    if (kind === 'audience') return { kind, name: name.trim() };
    return chosen && { kind, audience: chosen };
  };
  const start = (event: Event) => {
    event.preventDefault();
    const target = targetOf();
    if (!file) setRefusal('Choose a file first.');
    else if (target) setStarted({ file, target });
  };
  return (
    <>
      <h1>Upload</h1>
      <form class="card stack stack-wide" onSubmit={start}>
        <DropZone
          file={file}
          onFile={(next) => {
            setFile(next);
            setRefusal('');
          }}
          onRefuse={setRefusal}
        />
        {refusal && <p role="alert">{refusal}</p>}
        <Choice legend="Load as" value={kind} onChoose={setKind} options={allowed} />
        {kind === 'import' && (
          <Choice legend="Keys in the file" value={keyType} onChoose={setKeyType} options={keyTypes} />
        )}
        {kind === 'audience' && (
          <p class="field stack stack-tight">
            <label for="name">Name of the audience</label>
            <input
              id="name"
              required
              maxLength={256}
              pattern=".*\S.*"
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </p>
        )}
        {kind === 'append' && (
          <p class="field stack stack-tight">
            <label for="audience">Audience</label>
            <select
              id="audience"
              required
              value={audience}
              onChange={(event) => setAudience(event.currentTarget.value)}
            >
              <option value="">
                {audiences.data?.length === 0 ? 'There are no audiences yet' : 'Choose one'}
              </option>
              {(audiences.data ?? []).map(({ audience_id, name: title }) => (
                <option key={audience_id} value={audience_id}>
                  {title}
                </option>
              ))}
            </select>
          </p>
        )}
        {audiences.problem && <Problem problem={audiences.problem} retry={audiences.reload} />}
        <div class="actions">
          <button type="submit" class="primary">
            Upload and check
          </button>
          <span class="quiet">Shows a dry run first. Nothing is loaded until you confirm it.</span>
        </div>
      </form>
    </>
  );
}
