/** The OpenAPI document is derived from the operations: every response is described. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { createOpenApi } from '../../api/describe/openapi.ts';
import type { Examples } from '../../api/http/responses.ts';
import { sentEvents } from '../../api/resources/webhooks/sent-events.ts';
import { audienceQuery, dryRunQuery } from '../../schemas/http-queries.ts';
import { problemCodes } from '../../schemas/problems.ts';
import { config, operations } from './operations.ts';

const document = createOpenApi(config, operations, sentEvents);

describe('openapi', () => {
  it('and the router agree on who must authenticate and with which scope, and on what takes a body', () => {
    for (const route of operations) {
      const { method, path, access, body } = route;
      const operation = document.paths![path.replace(/:(\w+)/g, '{$1}')]![method]!;
      const where = `${method} ${path}`;
      const needed = access === 'public' ? [] : [{ apiKey: route.scopes }];
      expect([where, operation.security]).toEqual([where, needed]);
      expect([where, operation.requestBody !== undefined]).toEqual([where, body !== undefined]);
      const headers = (operation.parameters ?? []).map((parameter) =>
        'name' in parameter ? parameter.name : '',
      );
      expect([where, headers.includes('x-user-token')]).toEqual([where, access === 'user']);
      const isChange = method !== 'get';
      expect([where, 'prepare' in route]).toEqual([where, isChange]);
      expect([where, headers.includes('Idempotency-Key')]).toEqual([where, isChange]);
      const conflict = JSON.stringify(operation.responses?.[409] ?? null);
      expect([where, conflict.includes('idempotency_conflict')]).toEqual([where, isChange]);
    }
  });
});

describe('openapi and the query', () => {
  it('name the same parameters', () => {
    for (const { method, path, query } of operations) {
      const operation = document.paths![path.replace(/:(\w+)/g, '{$1}')]![method]!;
      const described = (operation.parameters ?? []).flatMap((parameter) =>
        'in' in parameter && parameter.in === 'query' ? [parameter.name] : [],
      );
      expect([path, described.toSorted()]).toEqual([path, Object.keys(query?.shape ?? {}).toSorted()]);
    }
  });
});

describe('openapi and what is refused', () => {
  const parametersOf = (path: string, method: 'get' | 'post') =>
    Object.fromEntries(
      (document.paths![path]![method]!.parameters ?? []).flatMap((one) =>
        'in' in one && one.in === 'query' ? [[one.name, one.schema as Record<string, unknown>]] : [],
      ),
    );

  it('agree on `search`: its length in characters, and which it must not have', () => {
    const { search } = parametersOf('/v2/firstparty/audience', 'get');
    expect(search).toMatchObject({ type: 'string', minLength: 1, maxLength: 256 });
    const pattern = new RegExp(search!.pattern as string);
    const isAccepted = (text: string) => audienceQuery.safeParse({ search: text }).success;
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const { length } = [...text];
        expect(isAccepted(text)).toBe(length >= 1 && length <= 256 && pattern.test(text));
      }),
      { numRuns: 30 },
    );
    for (const text of ['😀'.repeat(256), 'a'.repeat(256)]) expect(isAccepted(text)).toBe(true);
    for (const text of ['', '😀'.repeat(257), 'a\u0085']) expect(isAccepted(text)).toBe(false);
  });

  it('agree on `dry_run`: true or false', () => {
    for (const path of ['/v1/marketplace/import', '/v2/firstparty/audience'])
      expect(parametersOf(path, 'post').dry_run).toMatchObject({ type: 'boolean' });
    for (const [text, value] of [
      ['true', true],
      ['false', false],
    ] as const)
      expect(dryRunQuery.parse({ dry_run: text })).toEqual({ dry_run: value });
    for (const text of ['', '1', 'TRUE', 'yes'])
      expect(dryRunQuery.safeParse({ dry_run: text }).success).toBe(false);
  });
});

describe('what a reader sees', () => {
  it('examples keep the rules', () => {
    let count = 0;
    const check = (content: object) => {
      const { schema, examples = {} } = content as { schema: z.ZodType; examples?: Examples };
      for (const { value } of Object.values(examples)) {
        schema.parse(value);
        count++;
      }
    };
    for (const { body, responses } of operations) {
      if (body) check(body);
      for (const { content = {} } of Object.values(responses))
        for (const each of Object.values(content)) check(each!);
    }
    for (const { request } of sentEvents) check(request!.body!.content['application/json']!);
    expect(count).toBeGreaterThan(20);
  });

  const texts = (value: unknown): string[] =>
    typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).flatMap(([key, member]) =>
          key === 'description' && typeof member === 'string' ? [member] : texts(member),
        );

  it('nothing in a text is taken for HTML and lost: angle brackets are in code', () => {
    const all = texts(document);
    expect(all.length).toBeGreaterThan(100);
    for (const text of all) expect(text.replace(/```[\s\S]*?```|`[^`]*`/g, '')).not.toMatch(/[<>]/);
  });

  it('every operation has a short name and a description; every code is explained', () => {
    for (const [path, item] of Object.entries(document.paths!))
      for (const { summary, description } of Object.values(item!)) {
        expect([path, summary.length <= 45]).toEqual([path, true]);
        if (/^\/v\d/.test(path)) expect([path, description]).toEqual([path, expect.any(String)]);
      }
    for (const code of problemCodes) expect(document.info.description).toContain(`\`${code}\``);
  });
});
