/** What each command to MongoDB returned or wrote, for tests that no command grows with what is stored. */
import type { CommandStartedEvent, CommandSucceededEvent, Db, Document } from 'mongodb';

interface LoggedCommand {
  name: string;
  collection: string;
  /** Returned by a read, or matched by a write. */
  documents: number;
}

const documentsIn = ({ cursor, n = 0 }: Document): number =>
  cursor ? (cursor.firstBatch ?? cursor.nextBatch).length : n;

/** Those that `work` sends; the client must monitor commands. */
export async function commandsOf(db: Db, work: () => Promise<unknown>): Promise<LoggedCommand[]> {
  const commands: LoggedCommand[] = [];
  const collections = new Map<number, string>();
  const onStarted = ({ requestId, commandName, command }: CommandStartedEvent) =>
    collections.set(requestId, commandName === 'getMore' ? command.collection : command[commandName]);
  const onSucceeded = ({ requestId, commandName, reply }: CommandSucceededEvent) =>
    commands.push({
      name: commandName,
      collection: collections.get(requestId)!,
      documents: documentsIn(reply as Document),
    });
  db.client.on('commandStarted', onStarted).on('commandSucceeded', onSucceeded);
  try {
    await work();
  } finally {
    db.client.off('commandStarted', onStarted).off('commandSucceeded', onSucceeded);
  }
  return commands;
}

/** The most documents that one of the commands returned or wrote. */
export const largestOf = (commands: LoggedCommand[]): number =>
  commands.reduce((most, { documents }) => Math.max(most, documents), 0);
