/** Creates a privacy request, from identifiers or from a file. */
import { useState } from 'preact/hooks';
import { MAX_IDENTIFIERS, readIdentifiers } from '../../../schemas/identifier-text.ts';
import { privacyPath } from '../../client/client.ts';
import { count } from '../../client/format.ts';
import type { PrivacyRequest } from '../../client/types.ts';
import { change, newKey } from '../api-client.ts';
import { Choice, Problem } from '../components/basics.tsx';
import { useAction, useTitle } from '../hooks.ts';
import { openPage } from '../router.ts';

type Type = PrivacyRequest['type'];

const types: { value: Type; label: string; note: string }[] = [
  { value: 'access', label: 'Show', note: 'returns what is stored about the devices, for 7 days' },
  {
    value: 'delete',
    label: 'Delete',
    note: 'removes the devices from your attributes and audiences, and suppresses them in later loads',
  },
  { value: 'restore', label: 'Restore', note: 'ends the suppression; deleted data does not come back' },
];

const sources = [
  { value: false, label: 'Identifiers' },
  { value: true, label: 'A file in your storage', note: 'the identifier is the first column of each row' },
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

export function NewRequestPage() {
  useTitle('New privacy request');
  const [type, setType] = useState<Type>('access');
  const [isFile, setFile] = useState(false);
  const [text, setText] = useState('');
  const [path, setPath] = useState('');
  const [refusal, setRefusal] = useState('');
  const { isBusy, problem, run, dismiss } = useAction();
  /** The same for a retry. Changing the form makes it a new request. */
  const [key, setKey] = useState(newKey);

  const onChange = () => {
    setRefusal('');
    dismiss();
    setKey(newKey());
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const refused = isFile ? '' : refusalOf(text);
    setRefusal(refused);
    if (refused) return;
    const devices = isFile ? { file_path: path.trim() } : readIdentifiers(text);
    run(async () => {
      const { data } = await change<{ request_id: number }>('POST', privacyPath, { type, ...devices }, key);
      openPage(`/console/requests/${data.request_id}`);
    });
  };
  return (
    <>
      <div class="report-head stack stack-tight">
        <p class="crumb">
          <a href="/console/requests">Privacy requests</a> / New request
        </p>
        <h1>New privacy request</h1>
      </div>
      <form class="card stack stack-wide" onSubmit={submit} onInput={onChange}>
        <Choice legend="What to do" value={type} onChoose={setType} options={types} />
        <Choice legend="Devices" value={isFile} onChoose={setFile} options={sources} />
        {isFile ? (
          <p class="field stack stack-tight">
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
