/** Writes a response to standard output, as fast as it is read there. */
import { readText } from '../../../api/client/client.ts';
import { printData } from '../../../pipeline/runtime/terminal.ts';

export async function passOn(response: Response): Promise<void> {
  let last = '';
  for await (const text of readText(response)) {
    if (text === '') continue;
    await printData(process.stdout, text);
    last = text;
  }
  if (last !== '' && !last.endsWith('\n')) await printData(process.stdout, '\n');
}
