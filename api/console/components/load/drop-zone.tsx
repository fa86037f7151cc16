import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { bytes } from '../../../client/format.ts';

interface Props {
  file: File | undefined;
  onFile: (file: File) => void;
  onRefuse: (reason: string) => void;
}

/** Accepts a drop anywhere on the page: beside the zone, the browser would leave the page and open the file. */
function useDrop(onFiles: (files: FileList) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  // Before the next paint: a file could be dropped right after it.
  useLayoutEffect(() => {
    const over = (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent) => relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      if (event.dataTransfer) latest.current(event.dataTransfer.files);
    };
    document.addEventListener('dragover', over);
    document.addEventListener('dragleave', leave);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragover', over);
      document.removeEventListener('dragleave', leave);
      document.removeEventListener('drop', drop);
    };
  }, []);
  return isOver;
}

export function DropZone({ file, onFile, onRefuse }: Props) {
  const take = (files: FileList | null) => {
    if (!files || files.length === 0) return;
    if (files.length > 1)
      return onRefuse('Drop one file at a time. For several files, use the command line.');
    onFile(files[0]!);
  };
  const isOver = useDrop(take);
  return (
    <div class={`drop-zone stack stack-tight${isOver ? ' drop-over' : ''}`}>
      <p class="drop-title">{file ? file.name : 'Drop a file here'}</p>
      <p class="quiet">
        {file
          ? bytes(file.size)
          : 'One row per line: device identifier, then keys or an event. Plain or .gz, up to 5 GB.'}
      </p>
      <input
        id="file"
        class="visually-hidden"
        type="file"
        onChange={(event) => take(event.currentTarget.files)}
      />
      <label for="file" class="button">
        {file ? 'Choose another file' : 'Choose a file'}
      </label>
    </div>
  );
}
