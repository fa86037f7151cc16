/** Creates a privacy request, from identifiers or from a file. */
import { useState } from 'preact/hooks';
import { MAX_IDENTIFIERS, readIdentifiers } from '../../../schemas/identifier-text.ts';
import { privacyPath } from '../../client/client.ts';
import { count } from '../../client/format.ts';
import { ApiProblem } from '../../client/problem.ts';
import type { PrivacyRequest, Session } from '../../client/types.ts';
import { change, newKey } from '../api-client.ts';
import { Problem } from '../components/basics.tsx';
import { useTitle } from '../hooks.ts';
import { openPage } from '../router.ts';
import { NoScopePage } from './notices.tsx';

type Type = PrivacyRequest['type'];

const types: { type: Type; label: string; note: string }[] = [
  { type: 'access', label: 'Show', note: 'returns what is stored about the devices, for 7 days' },
  {
    type: 'delete',
    label: 'Delete',
    note: 'removes the devices from your attributes and audiences, and suppresses them in later loads',
  },
  { type: 'restore', label: 'Restore', note: 'ends the suppression; deleted data does not come back' },
];

/** What is wrong with the text, by line. */
function refusalOf(text: string): string {
  const { identifiers, badLine } = readIdentifiers(text);
  if (badLine !== undefined)
    return `Line ${count(badLine)} is not an advertising identifier: 32 hex digits, with or without hyphens.`;
  if (identifiers.length === 0) return 'Enter at least one identifier.';
  return identifiers.length > MAX_IDENTIFIERS
    ? `More than ${count(MAX_IDENTIFIERS)} identifiers: upload them as a file to your storage instead.`
    : '';
}

export function NewRequestPage({ session }: { session: Session }) {
  useTitle('New privacy request');
  const [type, setType] = useState<Type>('access');
  const [isFile, setFile] = useState(false);
  const [text, setText] = useState('');
  const [path, setPath] = useState('');
  const [refusal, setRefusal] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem>();
  /** The same for a retry. Changing the form makes it a new request. */
  const [key, setKey] = useState(newKey);
  if (!session.scopes.includes('privacy')) return <NoScopePage scope="privacy" />;

  const onChange = () => {
    setRefusal('');
    setProblem(undefined);
    setKey(newKey());
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const refused = isFile ? '' : refusalOf(text);
    setRefusal(refused);
    if (refused) return;
    setBusy(true);
    setProblem(undefined);
    const devices = isFile ? { file_path: path.trim() } : readIdentifiers(text);
    try {
      const { data } = await change<{ request_id: number }>('POST', privacyPath, { type, ...devices }, key);
      openPage(`/console/requests/${data.request_id}`);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error);
      setBusy(false);
    }
  };
  return (
    <>
      <div class="page-head report-head">
        <p class="crumb">
          <a href="/console/requests">Privacy requests</a> / New request
        </p>
        <h1>New privacy request</h1>
      </div>
      <form class="upload card" onSubmit={submit} onInput={onChange}>
        <fieldset>
          <legend>What to do</legend>
          {types.map((one) => (
            <label key={one.type} class="option">
              <input
                type="radio"
                name="type"
                checked={type === one.type}
                onChange={() => setType(one.type)}
              />
              <span>
                {one.label} <span class="quiet">{one.note}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <fieldset>
          <legend>Devices</legend>
          <label class="option">
            <input type="radio" name="devices" checked={!isFile} onChange={() => setFile(false)} />
            <span>Identifiers</span>
          </label>
          <label class="option">
            <input type="radio" name="devices" checked={isFile} onChange={() => setFile(true)} />
            <span>
              A file in your storage <span class="quiet">the identifier is the first column of each row</span>
            </span>
          </label>
        </fieldset>
        {isFile ? (
          <p class="field">
            <label for="path">Path of the file, relative to your prefix</label>
            <input
              id="path"
              required
              autocomplete="off"
              spellcheck={false}
              value={path}
              onInput={(event) => setPath(event.currentTarget.value)}
            />
          </p>
        ) : (
          <>
            <label for="identifiers">Advertising identifiers, one per line</label>
            <textarea
              id="identifiers"
              rows={6}
              autocomplete="off"
              spellcheck={false}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </>
        )}
        {type === 'delete' && (
          <label class="option">
            <input type="checkbox" required />
            <span>
              Delete permanently <span class="quiet">this cannot be undone</span>
            </span>
          </label>
        )}
        {refusal && <p role="alert">{refusal}</p>}
        {problem && <Problem problem={problem} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={isBusy}>
            Submit request
          </button>
          <span class="quiet">Runs in order with your other jobs.</span>
        </div>
      </form>
    </>
  );
}
