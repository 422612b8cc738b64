import test from 'ava';
import { excerptResponse, strikeOut } from '../../notifications/attempt-result.ts';

test('an excerpt is the first 1,024 bytes, cut at a character boundary', (t) => {
  t.is(excerptResponse(Buffer.from('ok')), 'ok');
  t.is(excerptResponse(Buffer.from('x'.repeat(3000)))?.length, 1024);
  t.is(excerptResponse(Buffer.from(`${'x'.repeat(1023)}é`)), 'x'.repeat(1023));
  t.is(excerptResponse(Buffer.alloc(0)), null);
});

test('control characters and invalid UTF-8 are replaced: PostgreSQL rejects NUL, terminals interpret escapes', (t) => {
  t.is(excerptResponse(Buffer.from('a\u0000b\u001B[31m\r\tc\n')), 'a\u{FFFD}b\u{FFFD}[31m\u{FFFD}\tc\n');
  t.is(excerptResponse(Buffer.from([0x61, 0xff, 0x62])), 'a\u{FFFD}b');
});

test('a secret is redacted everywhere, even across the end of the excerpt', (t) => {
  t.is(excerptResponse(Buffer.from('at /bots3cret/x and s3cret'), ['s3cret']), 'at /bot[secret]/x and [secret]');
  const excerpt = excerptResponse(Buffer.from(`${'x'.repeat(1020)}s3cret`), ['s3cret']);
  t.is(excerpt, `${'x'.repeat(1020)}[sec`);
  t.is(strikeOut('nothing', ['']), 'nothing');
});

test('short secrets are redacted next to their names, and a text with very many of them entirely', (t) => {
  const secrets = Array.from({ length: 500 }, (_, no) => ({ name: `n${no}`, value: String(no) }));
  t.is(excerptResponse(Buffer.from('n7=7 n8=9 7'), [], { shortSecrets: secrets }), 'n7=[secret] n8=9 7');
  t.is(excerptResponse(Buffer.from('PIN'), [], { shortSecrets: [{ name: 'pin', value: 'pin' }] }), 'PIN');
  t.is(excerptResponse(Buffer.from('a PASS b'), [], { shortSecrets: [{ name: 'x', value: 'pass' }] }), 'a [secret] b');
  const echo = secrets.map(({ name, value }) => `${name}=${value}`).join('&');
  t.is(excerptResponse(Buffer.from(echo), [], { shortSecrets: secrets }), '[secret]');
});

const KEY = 'mAx9LWE+c2VjcmV0/4Zz==';
const ESCAPED: readonly [name: string, key: string, written: string][] = [
  ["Python's quote", KEY, 'mAx9LWE%2Bc2VjcmV0/4Zz%3D%3D'],
  ['Gson', KEY, String.raw`mAx9LWE+c2VjcmV0/4Zz\u003d\u003d`],
  ['HTML with numbers', KEY, 'mAx9LWE&#43;c2VjcmV0&#x2F;4Zz&#x3D;&#x3d;'],
  ['HTML with names', `<'n0t"a&s3cret'>`, '&lt;&apos;n0t&quot;a&AMP;s3cret&#39;&gt;'],
  ["Go's QueryEscape", 'n0t-a~s3cret!', 'n0t-a~s3cret%21'],
  ['plain JSON', String.raw`n0t"a\s3cret`, String.raw`n0t\"a\\s3cret`],
  ['JSON of PHP', 'né/a&s3cret', String.raw`n\u00e9\/a&s3cret`],
  ['JSON with a surrogate pair', 'n0t\u{1F511}s3cret', String.raw`n0t\uD83D\uDD11s3cret`],
  ['a log with bytes', 'n0t"a"s3cret', String.raw`n0t\x22a\x22s3cret`],
  ['a form', 'n0t a s3crét', 'n0t+a+s3cr%C3%A9t'],
  ['a query as it was sent', 'n0t+a+s3cret', 'n0t a s3cret'],
  ['JSON in JSON', 'n0t/a=s3cret', String.raw`n0t\\\/a\\u003ds3cret`],
  ['a URL in HTML in JSON', "n0t'a=s3cret", String.raw`n0t\u0026#x27;a%3Ds3cret`],
];
for (const [name, key, written] of ESCAPED) {
  test(`a secret is redacted as ${name} writes it`, (t) => {
    t.is(strikeOut(`%20"${written}", 100% &amp; ${written};`, [key]), '%20"[secret]", 100% &amp; [secret];');
  });
}

test('text with escapes but no secret stays as it is', (t) => {
  const text = String.raw`%C3%28 %ff \u00e9 \q \\ &#999999; &nope; &#x0; 50% + 50% \u00`;
  t.is(strikeOut(text, ['n0t-a-s3cret']), text);
});

test('secrets that overlap or adjoin leave nothing between them', (t) => {
  t.is(strikeOut('a s3cret-key of s3crets3cret', ['s3cret', 'cret-key', '[secret]']), 'a [secret] of [secret][secret]');
});

test('the beginning of a secret at the end of a text that was cut is redacted, in escapes too', (t) => {
  for (const end of ['n0t/a=s3', 'n0t%2Fa%3Ds3%C3', String.raw`n0t\/a\u003ds3\u00`, 'n0t&#x2F;a=s3&#xE'])
    t.is(strikeOut(`GET ${end}`, ['n0t/a=s3é-cret'], true), 'GET [secret]', end);
  t.is(strikeOut('GET n0t/a=s', ['n0t/a=s3cret'], true), 'GET n0t/a=s', 'fewer than eight characters');
  t.is(strikeOut('GET n0t&s3cr', ['n0t&s3cret'], true), 'GET [secret]', 'what looks like an escape in it');
  const secret = Array.from({ length: 1000 }, (_, no) => no).join('-');
  t.is(
    excerptResponse(Buffer.from(secret.repeat(2)), [secret]),
    '[secret][secret]',
    'cut by the limit of what is read',
  );
});

test('a beginning that repeats itself at the end of a text is redacted from its first occurrence', (t) => {
  t.is(strikeOut('GET abcdefgh-abcdefgh', ['abcdefgh-abcdefgh-ijk'], true), 'GET [secret]');
});

test('the end of a whole text and the origin of a URL are no beginnings of secrets', (t) => {
  const secrets = ['https://hooks.example.com/services/s3cret'];
  const isCut = true;
  t.is(strikeOut('GET https://hooks.example.com/services/s3', secrets), 'GET https://hooks.example.com/services/s3');
  t.is(
    strikeOut('Host not found: https://hooks.example.com', secrets, isCut),
    'Host not found: https://hooks.example.com',
  );
  t.is(strikeOut('See https://hooks.example.com/servi', secrets, isCut), 'See https://hooks.example.com/servi');
  t.is(strikeOut('GET https://hooks.example.com/services/s3', secrets, isCut), 'GET [secret]');
});

test('a secret that looks like an escape, or follows a part of one, is redacted', (t) => {
  const secret = '50%22ab&c9%x';
  t.is(strikeOut(String.raw`{"k":"50%22ab\u0026c9%x"}`, [secret]), '{"k":"[secret]"}');
  t.is(strikeOut(String.raw`path \%2Fn0t%2541a%26s3cret`, ['/n0t%41a&s3cret']), String.raw`path \[secret]`);
});

test('a secret is redacted that was sent as Latin-1, from a response that repeats its bytes', (t) => {
  for (const secret of ['s3crét-k3y', 'Ã©-s3cret'])
    t.is(excerptResponse(Buffer.from(`No ${secret}`, 'latin1'), [secret]), 'No [secret]');
  for (const unknown of [String.raw`\ufffd`, '&#65533;', '%EF%BF%BD'])
    t.is(strikeOut(`No s3cr${unknown}t-k3y`, ['s3crét-k3y']), 'No [secret]', unknown);
  t.is(strikeOut('No s3cr\uFFFDt-k3', ['s3crét-k3y'], true), 'No [secret]');
});

test('nothing remains of a text with more than 500 secrets, or very long ones, which would take long to find', (t) => {
  const secrets = Array.from({ length: 501 }, (_, no) => `s3cret-${no}`);
  t.is(strikeOut('all is well', secrets), '[secret]');
  t.is(strikeOut('all is well', secrets.slice(1)), 'all is well');
  t.is(strikeOut('all is well', ['x'.repeat(10_000), 'y'.repeat(10_001)]), '[secret]');
  t.is(strikeOut('all is well', ['x'.repeat(10_000), 'y'.repeat(10_000)]), 'all is well');
});
