import test from 'ava';
import { Cookies } from '../../../agent/exporter/http-exchange.ts';

const cases: readonly [what: string, cookie: string, from: string, sentTo: string[], notTo: string[]][] = [
  [
    'of a host without a domain',
    'a=1',
    'http://x.test/',
    ['http://x.test:81/b'],
    ['http://sub.x.test/', 'http://y.test/'],
  ],
  [
    'of a domain',
    'a=1; Domain=.X.test',
    'http://x.test/',
    ['http://x.test/', 'http://sub.x.test/'],
    ['http://xx.test/'],
  ],
  ['of a parent domain', 'a=1; Domain=x.test', 'http://b.x.test/', ['http://x.test/', 'http://c.x.test/'], []],
  ['of another domain', 'a=1; Domain=y.test', 'http://x.test/', [], ['http://x.test/', 'http://y.test/']],
  ['of a top-level domain', 'a=1; Domain=test', 'http://x.test/', [], ['http://x.test/', 'http://y.test/']],
  ['of an address', 'a=1; Domain=127.0.0.1', 'http://127.0.0.1/', ['http://127.0.0.1/'], ['http://x.127.0.0.1.test/']],
  ['of part of an address', 'a=1; Domain=0.0.1', 'http://127.0.0.1/', [], ['http://127.0.0.1/']],
  ['of a path', 'a=1; Path=/b', 'http://x.test/', ['http://x.test/b', 'http://x.test/b/c'], ['http://x.test/bc']],
  [
    'of a path with a trailing slash',
    'a=1; path=/b/',
    'http://x.test/',
    ['http://x.test/b/', 'http://x.test/b/c'],
    ['http://x.test/b'],
  ],
  ['without a path', 'a=1', 'http://x.test/b/c', ['http://x.test/b/d', 'http://x.test/b'], ['http://x.test/d']],
  ['marked as secure', 'a=1; Secure', 'http://x.test/', ['https://x.test/'], ['http://x.test/']],
  ['with a past expiry date', 'a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'http://x.test/', [], ['http://x.test/']],
  ['with an age of zero', 'a=1; Max-Age=0', 'http://x.test/', [], ['http://x.test/']],
  [
    'with an age that overrides a past expiry date',
    'a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60',
    'http://x.test/',
    ['http://x.test/'],
    [],
  ],
];
for (const [what, cookie, from, sentTo, notTo] of cases)
  test(`a cookie ${what} is sent only where it belongs`, (t) => {
    const cookies = new Cookies();
    cookies.keep(new URL(from), { 'set-cookie': [cookie] });
    for (const url of sentTo) t.is(cookies.sentTo(new URL(url)), 'a=1', url);
    for (const url of notTo) t.is(cookies.sentTo(new URL(url)), '', url);
  });

test('cookies are sorted by path length, replaced, deleted, and limited to a hundred', (t) => {
  const cookies = new Cookies();
  const url = new URL('http://x.test/b/');
  const keep = (...lines: string[]): void => cookies.keep(url, { 'set-cookie': lines });
  keep('a=1; Path=/', 'b=2', 'c', 'a=3; Path=/');
  t.is(cookies.sentTo(url), 'b=2; a=3');
  keep('a=; Path=/; Max-Age=-1');
  t.is(cookies.sentTo(url), 'b=2');
  keep(...Array.from({ length: 200 }, (_, index) => `c${index}=1`));
  t.is(cookies.sentTo(url).split('; ').length, 100);
});
