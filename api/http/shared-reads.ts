/**
 * Concurrent requests for the same key share a database read, and none gets data older than the request: a request that arrives
 * while a read is in flight waits for the next read, which it shares with all the others that wait. The next read starts two turns
 * of the event loop later: by then the responses of the last one are written, and requests that arrived meanwhile share it too.
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
