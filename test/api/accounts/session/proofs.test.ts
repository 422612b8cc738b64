import test from 'ava';
import * as fc from 'fast-check';
import {
  findTotpStep,
  generateRecoveryCodes,
  generateTotpSecret,
  normalizeCode,
  otpauthUrl,
  writeRecoveryCode,
} from '../../../../api/accounts/session/proofs.ts';
import { totpCode } from '../../../helpers/totp.ts';

/** "12345678901234567890", the secret of RFC 6238, appendix B. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

/** Unix seconds, and the last six of the eight digits in the RFC. */
const VECTORS: readonly [atSeconds: number, code: string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
];

for (const [atSeconds, code] of VECTORS) {
  test(`the code at ${atSeconds} s is ${code} as in RFC 6238, valid one step before and after, but no further`, (t) => {
    const step = Math.floor(atSeconds / 30);
    t.is(totpCode(SECRET, step), code);
    // Steps before the second one are too early to test.
    const offs = [-2, -1, 0, 1, 2].filter((off) => step + off > 0);
    t.deepEqual(
      offs.map((off) => findTotpStep(SECRET, code, (step + off) * 30_000)),
      offs.map((off) => (Math.abs(off) <= 1 ? step : null)),
    );
  });
}

test('only six ASCII digits are a valid code', (t) => {
  for (const code of ['', '28708', '2870822', '287 82', 'abcdef', '２８７０８２'])
    t.is(findTotpStep(SECRET, code, 59_000), null);
});

test('every generated secret has 160 bits and produces codes that verify', (t) => {
  fc.assert(
    fc.property(fc.nat(2 ** 31), (step) => {
      const secret = generateTotpSecret();
      return (
        /^[A-Z2-7]{32}$/.test(secret) &&
        /^\d{6}$/.test(totpCode(secret, step)) &&
        findTotpStep(secret, totpCode(secret, step), step * 30_000) !== null
      );
    }),
  );
  t.pass();
});

test('the ten recovery codes are distinct, and case, spaces and hyphens do not matter when they are typed', (t) => {
  const codes = generateRecoveryCodes();
  t.is(new Set(codes).size, 10);
  for (const code of codes) {
    const written = writeRecoveryCode(code);
    t.regex(written, /^(?:[a-z2-7]{4}-){3}[a-z2-7]{4}$/);
    for (const typed of [written, written.toUpperCase(), ` ${written.replaceAll('-', ' ')}\n`, code])
      t.is(normalizeCode(typed), code);
  }
});

test('the otpauth URL names the user even if the email address has reserved characters', (t) => {
  const url = new URL(otpauthUrl(SECRET, 'a+b&c?d@example.org'));
  t.is(decodeURIComponent(url.pathname), '/Spotcheck:a+b&c?d@example.org');
  t.deepEqual(Object.fromEntries(url.searchParams), {
    secret: SECRET,
    issuer: 'Spotcheck',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
});
