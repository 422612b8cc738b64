import { createHash, randomBytes } from 'node:crypto';
import test from 'ava';
import { generateConnectCode } from '../../notifications/connect-code.ts';

test('a connect code expires after an hour and fits a Telegram start parameter', (t) => {
  const { code, expiresAtSeconds } = generateConnectCode(randomBytes, 1_700_000_000_900);
  t.is(expiresAtSeconds, 1_700_003_600);
  t.regex(code, /^[A-Za-z0-9_-]{43}$/);
});

test('the fingerprint of a code is its SHA-256', (t) => {
  const { code, fingerprint } = generateConnectCode(randomBytes, 0);
  t.deepEqual(fingerprint, createHash('sha256').update(code).digest());
});

test('codes are unique', (t) => {
  const codes = Array.from({ length: 100 }, () => generateConnectCode(randomBytes, 0).code);
  t.is(new Set(codes).size, 100);
});
