import { describe, expect, it } from 'vitest';
import { nextCursor } from '../../api/client/client.ts';
import { hrefWith, pageOf, safeNext, signInPath } from '../../api/console/router.ts';

describe('the router', () => {
  it('knows its pages', () => {
    expect(pageOf('/console/')).toMatchObject({ name: 'home' });
    expect(pageOf('/console/segments/10000042')).toMatchObject({ name: 'segment', id: 10_000_042 });
    expect(pageOf('/console/imports/7')).toMatchObject({ name: 'import', id: 7 });
    expect(pageOf('/console/requests/7')).toMatchObject({ name: 'request', id: 7 });
    for (const path of [
      '/console/segments/',
      '/console/segments/0',
      '/console/segments/x',
      '/console/constructor',
      '/console/imports7',
      '/console/7',
    ])
      expect(pageOf(path)).toMatchObject({ name: 'not-found' });
  });

  it('returns after the sign-in to a page of the console only', () => {
    expect(safeNext('/console/segments/42')).toBe('/console/segments/42');
    expect(safeNext('/console/audiences?search=a%20b&status=2')).toBe(
      '/console/audiences?search=a%20b&status=2',
    );
    for (const next of [
      null,
      '//evil.example',
      'https://evil.example',
      '/console/../docs?x=//',
      '/console/sign-in',
      '/consoleX',
      '/console/\\evil',
    ])
      expect(safeNext(next), String(next)).toBe('/console/audiences');
  });

  it('names where to return to', () => {
    expect(signInPath('/console/')).toBe('/console/sign-in');
    expect(signInPath('/console/segments/42', 'expired')).toBe(
      '/console/sign-in?reason=expired&next=%2Fconsole%2Fsegments%2F42',
    );
    expect(hrefWith('/console/audiences', { search: 'a b', status: undefined, cursor: '' })).toBe(
      '/console/audiences?search=a+b',
    );
  });

  it('takes the cursor of the next page from a Link header', () => {
    expect(nextCursor('<https://api.example/v1/x?limit=25&cursor=17>; rel="next"')).toBe('17');
    expect(nextCursor('</v1/x?limit=25&cursor=17>; rel="next"')).toBe('17');
    expect(nextCursor(null)).toBeNull();
  });
});
