/** Checks in advance for the tools that local processes need, so that a missing one gives a clear message. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runTool } from './child.ts';
import { StartError } from './start-error.ts';

const oldestJava = 17;

export function onPath(tool: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      const file = join(directory, tool);
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}

interface Alternative {
  /** The server that needs the tool, such as "Kafka". */
  readonly server: string;
  /** The variable for the address of an existing server. */
  readonly variable: string;
}

function otherwise({ server, variable }: Alternative): string {
  return `or start a Docker engine, or set ${variable} to the address of your own ${server}`;
}

export function needTool(tool: string, purpose: string, alternative: Alternative): void {
  if (onPath(tool)) return;
  throw new StartError(
    'missing_tool',
    `${tool} is not on the PATH; it is needed to ${purpose}. Install ${tool}, ${otherwise(alternative)}.`,
  );
}

export async function needJava(alternative: Alternative): Promise<void> {
  needTool('java', 'run Kafka', alternative);
  const text = await runTool('java', ['-version']);
  const major = Number(/version "(?:1\.)?(\d+)/.exec(text)?.[1]);
  if (major >= oldestJava) return;
  throw new StartError(
    'old_java',
    `java is version ${Number.isNaN(major) ? 'unknown' : major}, but Kafka needs ${oldestJava} or newer. Install Java ${oldestJava}, ${otherwise(alternative)}.`,
  );
}
