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
  t.is(excerptResponse(Buffer.from('n7=7 n8=9 7'), [], secrets), 'n7=[secret] n8=9 7');
  t.is(excerptResponse(Buffer.from('PIN'), [], [{ name: 'pin', value: 'pin' }]), 'PIN');
  t.is(excerptResponse(Buffer.from('a PASS b'), [], [{ name: 'x', value: 'pass' }]), 'a [secret] b');
  const echo = secrets.map(({ name, value }) => `${name}=${value}`).join('&');
  t.is(excerptResponse(Buffer.from(echo), [], secrets), '[secret]');
});
