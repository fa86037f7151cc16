/** Probes what a broker's listener speaks (TLS, SASL), because kafkajs only sees a closed connection. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Listener {
  tls: boolean;
  /** SASL mechanisms of the listener; empty without authentication. */
  mechanisms: string[];
}

const TIMEOUT_MS = 3_000;
const ILLEGAL_SASL_STATE = 34;

/** SaslHandshake (version 1) for an unknown mechanism: the response lists those of the listener. */
function handshake(): Buffer {
  const mechanism = Buffer.from('none');
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + 2 + mechanism.length);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(17, 4); // SaslHandshake
  request.writeInt16BE(1, 6); // its version
  request.writeInt32BE(1, 8); // correlation id
  request.writeInt16BE(-1, 12); // no client id
  request.writeInt16BE(mechanism.length, 14);
  mechanism.copy(request, 16);
  return request;
}

function mechanismsIn(answer: Buffer): string[] | undefined {
  if (answer.length < 14 || answer.readInt32BE(4) !== 1) return undefined;
  if (answer.readInt16BE(8) === ILLEGAL_SASL_STATE) return [];
  const found: string[] = [];
  let at = 14;
  for (let left = answer.readInt32BE(10); left > 0; left--) {
    const end = at + 2 + answer.readInt16BE(at);
    found.push(answer.toString('latin1', at + 2, end));
    at = end;
  }
  return found;
}

async function ask(socket: Socket, isOpen: 'connect' | 'secureConnect'): Promise<string[] | undefined> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    await once(socket, isOpen, { signal });
    socket.write(handshake());
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    return mechanismsIn(answer);
  } catch {
    return undefined;
  } finally {
    socket.on('error', () => {}).destroy();
  }
}

/** Undefined if the listener does not answer or speaks another protocol. */
export async function probeListener(address: string): Promise<Listener | undefined> {
  const [host, port] = address.split(':') as [string, string];
  const at = { host, port: Number(port) };
  const plain = await ask(connect(at), 'connect');
  if (plain) return { tls: false, mechanisms: plain };
  // Only to detect TLS: nothing confidential is sent.
  let spokeTls = false;
  const socket = connectTls({ ...at, rejectUnauthorized: false });
  socket.once('secureConnect', () => {
    spokeTls = true;
  });
  const secured = await ask(socket, 'secureConnect');
  return secured || spokeTls ? { tls: true, mechanisms: secured ?? [] } : undefined;
}
