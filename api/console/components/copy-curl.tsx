import { useRef, useState } from 'preact/hooks';
import { announcement } from '../hooks.ts';

/** The clipboard requires a secure context; without one, the text is selected for Ctrl-C. */
async function copy(element: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(element.textContent ?? '');
    return true;
  } catch {
    getSelection()?.selectAllChildren(element);
    return false;
  }
}

const SHOWN_MS = 2_000;

export function CopyCurl({ title, note, command }: { title: string; note?: string; command: string }) {
  const code = useRef<HTMLElement>(null);
  const [said, setSaid] = useState('');
  const onCopy = async () => {
    const text = (await copy(code.current!)) ? 'Copied' : 'Selected: press Ctrl-C';
    setSaid(text);
    announcement.set(`${text}: ${title}`);
    setTimeout(() => setSaid(''), SHOWN_MS);
  };
  return (
    <div class="curl card stack stack-tight">
      <div class="spread">
        <h3>{title}</h3>
        <button type="button" class="small" onClick={onCopy} aria-label={`Copy as curl: ${title}`}>
          {said || 'Copy as curl'}
        </button>
      </div>
      {note && <p class="quiet">{note}</p>}
      <pre>
        <code ref={code}>{command}</code>
      </pre>
    </div>
  );
}
