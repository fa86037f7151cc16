/** Finds regular expressions that take superlinear time: a client could block a process with one. */
import { parseSync, Visitor } from 'oxc-parser';
import { analyse } from 'scslre';

export interface Finding {
  line: number;
  pattern: string;
  reason: string;
}

/** scslre tries repeated single characters; repeated words, such as /a .* b/ in "a a a", are left to review. */
function reasonOf(source: string, flags: string): string | undefined {
  const [report] = analyse({ source, flags }, { maxReports: 1 }).reports;
  if (!report) return undefined;
  const degree = report.exponential ? 'exponential' : 'quadratic or worse';
  return `${degree} for a long run of ${JSON.stringify(report.character.pick)}`;
}

export function findBacktracking(name: string, text: string): Finding[] {
  const { program, errors } = parseSync(name, text);
  if (errors.length > 0) throw new Error(`${name}: ${errors[0]!.message}`);
  const findings: Finding[] = [];
  const add = (start: number, pattern: string, reason: string | undefined) => {
    if (reason) findings.push({ line: text.slice(0, start).split('\n').length, pattern, reason });
  };
  /** A pattern composed at run time cannot be analysed. */
  const refuseComposed = (node: { callee: { type: string }; start: number; end: number }) => {
    if (node.callee.type === 'Identifier' && (node.callee as { name?: string }).name === 'RegExp')
      add(node.start, text.slice(node.start, node.end), 'not a literal');
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node)
        add(node.start, node.raw ?? '', reasonOf(node.regex.pattern, node.regex.flags ?? ''));
    },
    NewExpression: refuseComposed,
    CallExpression: refuseComposed,
  }).visit(program);
  return findings;
}
