/** Requests that Node itself refuses before Koa sees them: malformed, too slow or too large. */
import type { Duplex } from 'node:stream';
import type { ProblemCode } from '../../schemas/problems.ts';
import { Problem } from './problem.ts';

const codes: Record<string, ProblemCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
};

export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = new Problem(codes[error.code ?? ''] ?? 'bad_request', 'The request could not be read.');
  const body = problem.toBody('');
  socket.end(
    [
      `HTTP/1.1 ${problem.status} Error`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
