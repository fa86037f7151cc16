/** The documentation pages and the commands and code they show. */
import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** Page content by path in the repository. */
export const pages: Record<string, string> = Object.fromEntries(
  ['', 'api/', 'deploy/', 'pipeline/', 'schemas/', 'test/'].flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => name.endsWith('.md'))
      .map((name) => [folder + name, readFileSync(new URL(folder + name, root), 'utf8')]),
  ),
);

interface Block {
  readonly language: string;
  readonly text: string;
}

export const blocksIn = (markdown: string): Block[] =>
  [...markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, text]) => ({
    language: language!,
    text: text!,
  }));

export const withoutBlocks = (markdown: string) => markdown.replace(/^```\w*\n.*?^```$/gms, '');

/** `inline code`, without the backticks. */
export const spansIn = (markdown: string): string[] =>
  [...withoutBlocks(markdown).matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);

/** A command to run. Commands that depend on each other form one block. */
export interface Shown {
  readonly command: string;
  /** Lines that the page shows as output; the command may print others, too. */
  readonly prints: readonly string[];
}

const isCommand = /^(npm|npx|node|git|curl|docker|kubectl|\.\/headrace) /;

/** The commands that a reader may paste: shell blocks in order, each with the output block after it, then inline commands. */
export function commandsIn(markdown: string): Shown[] {
  const blocks = blocksIn(markdown);
  const ofBlocks = blocks.flatMap(({ language, text }, i) => {
    if (language !== 'sh') return [];
    const next = blocks[i + 1];
    const prints = next?.language === 'text' ? next.text.trimEnd().split('\n') : [];
    return [{ command: text.trimEnd(), prints }];
  });
  const spans = new Set(spansIn(markdown).filter((span) => isCommand.test(span)));
  const inline = [...spans].map((command) => ({ command, prints: [] }));
  return [
    ...ofBlocks,
    ...inline.filter(({ command }) => ofBlocks.every((block) => block.command !== command)),
  ];
}
