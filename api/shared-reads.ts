/**
 * Requests for the same thing share a read, and none gets an answer older than its question: whoever comes while a read is
 * under way waits for the next one, together with all the others that came. The next one begins two turns of the event loop
 * later: by then the answers of the one before are written, and requests that have arrived meanwhile share it too.
 */

const twoTurns = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

export function createSharedReads<T>(read: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const flights = new Map<string, { running: Promise<T>; next?: Promise<T> }>();

  function start(key: string): Promise<T> {
    const flight: { running: Promise<T>; next?: Promise<T> } = { running: read(key) };
    flights.set(key, flight);
    const done = () => {
      if (!flight.next) flights.delete(key);
    };
    flight.running.then(done, done);
    return flight.running;
  }

  return (key) => {
    const flight = flights.get(key);
    if (!flight) return start(key);
    flight.next ??= flight.running.then(twoTurns, twoTurns).then(() => start(key));
    return flight.next;
  };
}
