/** The next steps after an import that failed or rejected rows. */
import { useState } from 'preact/hooks';
import { importPath, readLines } from '../../client/client.ts';
import { count, plural } from '../../client/format.ts';
import { lineToCorrect, noRows } from '../../client/rows-to-correct.ts';
import type { ImportLog, RejectedRow } from '../../client/types.ts';
import { change, newKey, request } from '../api-client.ts';
import { save } from '../csv.ts';
import { useAction } from '../hooks.ts';
import { openPage } from '../router.ts';
import { Problem } from './basics.tsx';
import { LoadSteps } from './load/load-steps.tsx';
import type { RejectsShown } from './rejected-rows.tsx';

/** Submits the same path as a new job, after a correction or a temporary failure. */
export function SubmitAgain({ log }: { log: ImportLog }) {
  const [key] = useState(newKey);
  const { isBusy, problem, run } = useAction();
  const submit = () =>
    run(async () => {
      const { file_path, key_type } = log;
      const body = { file_path, key_type, compressed: 'auto' };
      const { data } = await change<{ import_log_id: number }>('POST', importPath, body, key);
      openPage(`/console/imports/${data.import_log_id}`);
    });
  return (
    <>
      {problem && <Problem problem={problem} />}
      <div class="actions">
        <button type="button" class="primary" disabled={isBusy} onClick={submit}>
          Submit again
        </button>
        <a class="button" href={`/console/upload?as=import&key_type=${log.key_type}`}>
          Upload a corrected file
        </a>
        <span class="quiet">Submits the same path as a new import. Correct the file there first.</span>
      </div>
    </>
  );
}

/** Saves all rejected rows as a file that can be loaded. */
async function saveRows(path: string, name: string): Promise<void> {
  const counts = noRows();
  const lines: string[] = [];
  for await (const row of readLines<RejectedRow>(await request(path))) lines.push(lineToCorrect(row, counts));
  save(new Blob(lines, { type: 'text/csv' }), name);
}

interface Props {
  log: ImportLog;
  rejects: RejectsShown;
}

/** Lets the user correct the rejected rows in place and load them as a new file. */
export function CorrectRows({ log, rejects }: Props) {
  const { import_log_id: id, key_type: keyType } = log;
  const failed = new Set((log.errors ?? []).flatMap(({ file }) => (file === undefined ? [] : [file])));
  const counts = noRows();
  const given = rejects.rows
    .filter(({ file }) => !failed.has(file))
    .map((row) => lineToCorrect(row, counts))
    .join('');
  const [text, setText] = useState<string>();
  const [file, setFile] = useState<File>();
  const [target] = useState({ kind: 'import', keyType } as const);
  if (counts.rows === 0) return null;
  const name = `rejected-rows-of-import-${id}.csv`;
  if (file)
    return <LoadSteps file={file} target={target} action="Resubmit" onCancel={() => setFile(undefined)} />;
  const isAll = !rejects.more && counts.omitted === 0 && counts.truncated === 0;
  return (
    <form
      class="card stack stack-tight"
      onSubmit={(event) => {
        event.preventDefault();
        setFile(new File([text ?? given], name, { type: 'text/csv' }));
      }}
    >
      <label for="rows">Correct the rows</label>
      <textarea
        id="rows"
        rows={Math.min(12, counts.rows + 2)}
        spellcheck={false}
        wrap="off"
        aria-describedby="rows-hint"
        value={text ?? given}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <p id="rows-hint" class="quiet">
        {plural(counts.rows, 'row')} below a header. Delete rows that you do not want. Only these rows are
        loaded; accepted rows stay as they are.
        {!isAll &&
          ` ${rejects.more ? 'More rows were rejected: save all of them, correct the file and upload it.' : ''}${
            counts.truncated > 0
              ? ` ${count(counts.truncated)} are too long to be stored: correct your file.`
              : ''
          }${counts.omitted > 0 ? ` ${count(counts.omitted)} were not stored: correct your file.` : ''}`}
      </p>
      <div class="actions">
        <button type="submit" class="primary" disabled={(text ?? given).trim() === ''}>
          Check and resubmit
        </button>
        <button type="button" onClick={() => saveRows(`${importPath}/${id}/rejects`, name)}>
          Save as a file
        </button>
      </div>
    </form>
  );
}
