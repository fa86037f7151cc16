/** The API's pure functions. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { networkOf } from '../../api/http/connections.ts';
import { createTokenBuckets } from '../../api/http/limit-rate.ts';
import { exceedsDepth, isJsonType } from '../../api/http/read-body.ts';
import { createSharedReads } from '../../api/http/shared-reads.ts';
import { canonical } from '../../api/jobs/idempotent.ts';
import { keyIdOf } from '../../api/stores/api-keys.ts';
import { seal, sealedWith, secretId, UnsealError, unseal } from '../../pipeline/runtime/seal.ts';
import { ownPathPattern, ownPathProblem, sharedPathPattern, sharedPathProblem } from '../../schemas/paths.ts';
import { problemCodes, problems } from '../../schemas/problems.ts';

describe('a content type', () => {
  it.each([
    'application/json',
    'Application/JSON ;',
    'application/json; charset=utf-8',
    'application/json ; charset = "UTF8" ;',
  ])('%s is JSON', (type) => {
    expect(isJsonType(type)).toBe(true);
  });
  it.each([
    '',
    'application/jsonx',
    'application/json x',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8=x',
    'application/json; boundary=x',
  ])('%s is not', (type) => {
    expect(isJsonType(type)).toBe(false);
  });
  it('that is as long as a stranger likes is looked at once', () => {
    const blanks = ' '.repeat(500_000);
    const from = performance.now();
    for (const type of [
      `application/json${blanks}x`,
      `application/json;${blanks}charset${blanks}=${blanks}x`,
    ])
      expect(isJsonType(type)).toBe(false);
    // Half a million characters take milliseconds; a backtracking pattern would take minutes.
    expect(performance.now() - from).toBeLessThan(20_000);
  });
});

describe('sealed secrets', () => {
  const secret = randomBytes(32);
  it('come back as they went in, and look different each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const sealed = seal(secret, text, 'here');
        expect(unseal([secret], sealed, 'here')).toBe(Buffer.from(text).toString());
        expect(seal(secret, text, 'here').equals(sealed)).toBe(false);
      }),
    );
  });
  it('do not open with another key, in another context, nor when a bit has changed', () => {
    const sealed = seal(secret, 'hello', 'here');
    expect(() => unseal([randomBytes(32)], sealed, 'here')).toThrow(/another key/);
    expect(() => unseal([secret], sealed, 'there')).toThrow(/another job/);
    for (let i = 0; i < sealed.length; i++) {
      const altered = Buffer.from(sealed);
      altered[i]! ^= 1;
      expect(() => unseal([secret], altered, 'here')).toThrow(UnsealError);
    }
    expect(() => unseal([secret], Buffer.alloc(3), 'here')).toThrow(/not a sealed/);
  });
  it('open with an old secret, which they name', () => {
    const next = randomBytes(32);
    const sealed = seal(secret, 'hello', 'here');
    expect(unseal([next, secret], sealed, 'here')).toBe('hello');
    expect(sealedWith(sealed)).toBe(secretId(secret));
    expect(sealedWith(sealed)).not.toBe(secretId(next));
  });
});

describe('paths', () => {
  const pieces = fc.constantFrom(
    ...[
      'a',
      '.',
      '..',
      '/',
      '//',
      's3://',
      'bucket-x/',
      'bucket',
      'xn--',
      'sthree-',
      '--x-s3',
      '192.168.5.4',
      '\n',
      '\u0000',
      '\u2028',
      'ü',
      '\ud800',
      '\ufffd',
      '...',
      ' ',
      '\u0085',
    ],
  );
  const paths = fc.array(pieces, { maxLength: 8 }).map((list) => list.join(''));

  it.each([
    ['shared', sharedPathPattern, sharedPathProblem],
    ['own', ownPathPattern, ownPathProblem],
  ] as const)('the published pattern of a %s path says what the check says', (_, pattern, check) => {
    const published = new RegExp(pattern);
    fc.assert(
      fc.property(paths, (path) => {
        // A lone surrogate is no text in JSON Schema either, but no pattern can express that.
        fc.pre(!/\p{Surrogate}/u.test(path));
        expect(published.test(path)).toBe(check(path, 1_024) === undefined);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('buckets of partners', () => {
  it.each([
    'xn--bucket',
    'sthree-bucket',
    'sthree-configurator',
    'amzn-s3-demo-bucket',
    'bucket-s3alias',
    'bucket--ol-s3',
    'bucket.mrap',
    'bucket--use1-az4--x-s3',
    'bucket--table-s3',
    'a..b',
    '192.168.5.4',
    'ab',
    'a'.repeat(64),
    'Bucket',
    'under_score',
    '-bucket',
    'bucket.',
  ])('%s is none', (bucket) => {
    expect(ownPathProblem(`s3://${bucket}/a.csv`, 1_024)).toEqual(expect.any(String));
    expect(new RegExp(ownPathPattern).test(`s3://${bucket}/a.csv`)).toBe(false);
  });

  it.each(['bucket', 'my.bucket-1', 'x--s3', 'sthree', '192.168.5.4x', 'a'.repeat(63), 'ol-s3', 's3alias'])(
    '%s is one',
    (bucket) => {
      expect(ownPathProblem(`s3://${bucket}/a..b/xn--/--x-s3/1.2.3.4/x`, 1_024)).toBeUndefined();
      expect(new RegExp(ownPathPattern).test(`s3://${bucket}/a..b/xn--/--x-s3/1.2.3.4/x`)).toBe(true);
    },
  );
});

describe('the network of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['2001:db8:1:2:3::', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['', ''],
  ])('%s: %s', (address, network) => expect(networkOf(address)).toBe(network));
});

describe('the token bucket', () => {
  it('never gives more than burst + rate × time, and never less than rate × time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 200 }),
        (rate, burst, gaps) => {
          let now = 0;
          const buckets = createTokenBuckets(rate, burst, () => now);
          let given = 0;
          for (const gap of gaps) {
            now += gap;
            if (buckets.take('k') >= 0) given++;
          }
          expect(given).toBeLessThanOrEqual(burst + (rate * now) / 1_000 + 1e-6);
          expect(given).toBeGreaterThanOrEqual(Math.min(gaps.length, burst));
        },
      ),
    );
  });
});

describe('shared reads', () => {
  it('give nobody an answer from before the question', async () => {
    let clock = 0;
    let reads = 0;
    const read = createSharedReads(async () => {
      const at = ++clock;
      reads++;
      await new Promise((resolve) => setTimeout(resolve, 2));
      return at;
    });
    const ask = async () => {
      const asked = clock;
      expect(await read('k')).toBeGreaterThan(asked);
    };
    const askers = Array.from({ length: 100 }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, i % 10));
      await ask();
    });
    await Promise.all(askers);
    expect(reads).toBeLessThan(50);
  });

  it('go on after a read that failed', async () => {
    let fail = true;
    const read = createSharedReads(async () => {
      if (fail) throw new Error('down');
      return 1;
    });
    const both = Promise.allSettled([read('k'), read('k')]);
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fail = false;
    expect(await read('k')).toBe(1);
  });
});

describe('small things', () => {
  it('canonical JSON does not depend on the order of members', () => {
    expect(canonical({ b: [1, { d: null, c: 'x' }], a: true })).toBe(
      canonical({ a: true, b: [1, { c: 'x', d: null }] }),
    );
    expect(canonical({ a: [1, 2] })).not.toBe(canonical({ a: [2, 1] }));
  });
  it('depth counts objects and arrays', () => {
    expect(exceedsDepth({ a: [] }, 2)).toBe(false);
    expect(exceedsDepth({ a: [[]] }, 2)).toBe(true);
    expect(exceedsDepth(7, 0)).toBe(false);
  });
  it('a key’s readable part', () => {
    expect(keyIdOf(`hr_abcd1234_${'_'.repeat(43)}`)).toBe('abcd1234');
    expect(keyIdOf(`hr_abcd1234_${'_'.repeat(42)}`)).toBeUndefined();
    expect(keyIdOf('')).toBeUndefined();
  });
  it('every problem has a client or server error status and a title', () => {
    for (const code of problemCodes) {
      expect(problems[code].status).toBeGreaterThanOrEqual(400);
      expect(problems[code].title.length).toBeGreaterThan(10);
    }
  });
});
