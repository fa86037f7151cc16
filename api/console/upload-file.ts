/** Sends a file straight to the storage, with a URL presigned by the service. */
import { ApiProblem } from '../client/problem.ts';
import type { SignedUpload } from '../client/types.ts';
import { change } from './api-client.ts';

interface Options {
  /** What the file is for. */
  scope: 'import' | 'audience';
  onSent(bytes: number): void;
  signal: AbortSignal;
}

const failed = (detail: string) => new ApiProblem(-1, 'The file was not uploaded', detail);

/** The storage explains refusals in XML. */
function refusal({ status, responseText }: XMLHttpRequest): ApiProblem {
  const code = /<Code>([^<]*)</.exec(responseText)?.[1];
  const message = /<Message>([^<]*)</.exec(responseText)?.[1];
  return failed(
    `The storage answered ${status}${code ? ` ${code}` : ''}.${message ? ` ${message}` : ''} Nothing was loaded.`,
  );
}

/** XMLHttpRequest: fetch does not report what was sent. */
const put = (url: string, file: File, { onSent, signal }: Options): Promise<void> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let sent = 0;
    request.upload.onprogress = ({ loaded }) => {
      sent = loaded;
      onSent(loaded);
    };
    request.onload = () => (request.status === 200 ? resolve() : reject(refusal(request)));
    request.onerror = () =>
      reject(
        failed(
          sent > 0
            ? 'The connection to the storage broke, or the file changed while it was read. Nothing was loaded.'
            : `The storage at ${new URL(url).host} does not answer this page. Its CORS rules may not allow uploads from ${location.origin}: ask the operator.`,
        ),
      );
    signal.addEventListener('abort', () => {
      request.abort();
      reject(signal.reason);
    });
    request.open('PUT', url);
    request.send(file);
  });

/** The path to submit. */
export async function uploadFile(file: File, options: Options): Promise<string> {
  const { name, size } = file;
  if (size === 0) throw failed('The file is empty.');
  const { data } = await change<SignedUpload>('POST', `/console/uploads/${options.scope}`, { name, size });
  options.signal.throwIfAborted();
  await put(data.url, file, options);
  return data.file_path;
}
