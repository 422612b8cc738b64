import { randomBytes } from 'node:crypto';
import test from 'ava';
import { assert, constantFrom, property, stringMatching, uint8Array } from 'fast-check';
import {
  cellOfPingToken,
  cellOfRequest,
  cellOfToken,
  writePingToken,
  writeToken,
} from '../../../core/accounts/cells.ts';

const MONITOR_ID = 'mon_01jd3k5v9x8q2r4s6t7w0y1z2a';
const names = stringMatching(/^[a-z][a-z0-9]{0,15}$/);
const bytes32 = uint8Array({ minLength: 32, maxLength: 32 });
const secrets = bytes32.map((bytes) => Buffer.from(bytes).toString('base64url'));
const prefixes = constantFrom('spk' as const, 'spa' as const, 'spw' as const);

test('a token names the cell that made it, whatever its random part is', (t) => {
  assert(
    property(prefixes, names, secrets, (prefix, name, secret) => {
      t.is(cellOfToken(writeToken(prefix, name, secret)), name);
    }),
  );
});

test('a token issued by an unnamed installation names no cell', (t) => {
  assert(
    property(prefixes, secrets, (prefix, secret) => {
      t.is(cellOfToken(writeToken(prefix, null, secret)), null);
    }),
  );
  // At worst, the random part itself begins like the name of a cell.
  t.is(cellOfToken(`spk_a_${'x'.repeat(41)}`), null);
  t.is(cellOfToken(`spk_a_${'x'.repeat(43)}`), 'a');
});

test('tokens chosen by operators and malformed tokens name no cell', (t) => {
  for (const token of ['', 'spk_', 'spk_a_', 'spk_ops', `spk_${randomBytes(32).toString('hex')}`, 'spx_a_b', 'a'])
    t.is(cellOfToken(token), null, token);
  t.is(cellOfToken(`spk_A_${'x'.repeat(43)}`), null);
  t.is(cellOfToken(`spk_${'a'.repeat(17)}_${'x'.repeat(43)}`), null);
});

test("a ping token names its cell, or without one is the monitor's id and a random part", (t) => {
  const secret = randomBytes(18).toString('base64url');
  t.is(writePingToken(MONITOR_ID, null, secret), `${MONITOR_ID}.${secret}`);
  t.is(cellOfPingToken(writePingToken(MONITOR_ID, null, secret)), null);
  t.is(cellOfPingToken(writePingToken(MONITOR_ID, 'eu1', secret)), 'eu1');
  t.is(cellOfPingToken(`eu1.${secret}`), null);
});

test("a request's cell comes from its ping token, else its bearer token, else the browser's cookie", (t) => {
  const [pingToken, bearerToken] = [`a.${MONITOR_ID}.x`, `spk_b_${'x'.repeat(43)}`];
  t.is(cellOfRequest({ pingToken, bearerToken, chosenCell: 'c' }), 'a');
  t.is(cellOfRequest({ pingToken: null, bearerToken, chosenCell: 'c' }), 'b');
  t.is(cellOfRequest({ pingToken: null, bearerToken: null, chosenCell: 'c' }), 'c');
  t.is(
    cellOfRequest({ pingToken: null, bearerToken: 'spk_old', chosenCell: 'c' }),
    null,
    'a request with a bearer token ignores the cookie',
  );
  t.is(cellOfRequest({ pingToken: 'old', bearerToken, chosenCell: 'c' }), null);
});
