/** The number of documents that each MongoDB command returned or wrote: tests assert that no command grows with the stored data. */
import type { CommandStartedEvent, CommandSucceededEvent, Db, Document } from 'mongodb';

interface LoggedCommand {
  name: string;
  collection: string;
  /** Documents that a read returned or a write matched. */
  documents: number;
}

const documentsIn = ({ cursor, n = 0 }: Document): number =>
  cursor ? (cursor.firstBatch ?? cursor.nextBatch).length : n;

/** The commands that `work` sends. The client must monitor commands. */
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

/** The largest number of documents that a single command returned or wrote. */
export const largestOf = (commands: LoggedCommand[]): number =>
  commands.reduce((largest, { documents }) => Math.max(largest, documents), 0);
