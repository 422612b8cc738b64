import test from 'ava';
import type { CheckTarget } from '../../../core/monitors/monitor.ts';
import { buildFirstHop, carriesSecrets, followRedirect, redirectTarget } from '../../../probes/http/request.ts';
import { httpTarget } from '../../helpers/check-target.ts';

function keepsSecrets(first: string, to: string): boolean {
  const hop = buildFirstHop(httpTarget({ target: first, secrets: { secretHeaders: { 'X-Key': 'hidden' } } }));
  if (hop === null) throw new Error(`no URL: ${first}`);
  return carriesSecrets(followRedirect({ hop, status: 307, to: new URL(to) }, hop.url));
}

const HOME = [
  'https://example.com/x',
  'https://EXAMPLE.com:443/',
  'https://www.example.com/',
  'https://a.b.example.com/',
];
const ABROAD = [
  'https://example.com:8443/',
  'https://www.example.com:444/',
  'http://example.com:80/',
  'https://example.org/',
  'https://notexample.com/',
  'https://example.com.evil.org/',
  'https://com/',
  'https://93.184.216.34/',
  'https://example.com./',
];

for (const to of HOME) {
  test(`secrets for https://example.com go to ${to}`, (t) => t.true(keepsSecrets('https://example.com/', to)));
}

for (const to of ABROAD) {
  test(`secrets for https://example.com do not go to ${to}`, (t) => t.false(keepsSecrets('https://example.com/', to)));
}

test("the service's traceparent follows redirects only as secrets do, but a custom header always does", (t) => {
  const sentTo = (to: string, target: Partial<CheckTarget>) => {
    const hop = buildFirstHop(httpTarget({ target: 'https://example.com/', ...target }));
    if (hop === null) throw new Error('no URL');
    return followRedirect({ hop, status: 307, to: new URL(to) }, hop.url).headers.get('traceparent')?.value;
  };
  const traceparent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
  t.is(sentTo('https://www.example.com/', { traceparent }), traceparent);
  t.is(sentTo('https://example.org/', { traceparent }), undefined);
  t.is(sentTo('https://example.com:8443/', { traceparent }), undefined);
  const own = { checkSpec: { request: { headers: { traceparent: '00-own' } } } };
  t.is(sentTo('https://example.org/', own), '00-own');
});

test('the parent domain of the first host is another host', (t) => {
  t.false(keepsSecrets('https://www.example.com/', 'https://example.com/'));
});

test('an address has no subdomains', (t) => {
  t.false(keepsSecrets('https://[::1]/', 'https://x.example/'));
  t.true(keepsSecrets('https://[::1]/', 'https://[::1]/x'));
});

test('another port is another server, except from http to https on their default ports', (t) => {
  t.true(keepsSecrets('http://example.com/', 'https://example.com/'));
  t.true(keepsSecrets('http://example.com:8080/', 'https://www.example.com:8080/'));
  t.false(keepsSecrets('http://example.com/', 'https://example.com:8443/'));
  t.false(keepsSecrets('http://example.com:8080/', 'https://example.com/'));
  t.false(keepsSecrets('http://example.com/', 'http://example.com:443/'));
});

test('a check without its stored credentials sends no Authorization header', (t) => {
  for (const type of ['bearer', 'basic'] as const) {
    const hop = buildFirstHop(
      httpTarget({ target: 'https://example.com/', checkSpec: { request: { auth: { type } } } }),
    );
    t.false(hop?.headers.has('authorization'));
  }
});

test('only 301, 302, 303, 307 and 308 redirect to their location', (t) => {
  const from = new URL('https://example.com/a');
  for (const status of [301, 302, 303, 307, 308])
    t.is(redirectTarget({ status, location: '/b' }, from)?.href, 'https://example.com/b');
  for (const status of [200, 201, 300, 304, 305, 306, 309, 404])
    t.is(redirectTarget({ status, location: '/b' }, from), null);
  t.is(redirectTarget({ status: 301, location: '//other.example/c' }, from)?.href, 'https://other.example/c');
});

test('a Content-Type header, plain or secret and in any case, overrides contentType', (t) => {
  const typeOf = (request: object, secretHeaders = {}) =>
    buildFirstHop(
      httpTarget({
        target: 'https://example.com/',
        checkSpec: { request: { body: 'x', contentType: 'text/plain', ...request } },
        secrets: { secretHeaders },
      }),
    )?.headers.get('content-type')?.value;
  t.is(typeOf({}), 'text/plain');
  t.is(typeOf({ headers: { 'content-TYPE': 'application/xml' } }), 'application/xml');
  t.is(typeOf({}, { 'Content-Type': 'application/json' }), 'application/json');
});
