import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { openState, sealState } from '../../../notifications/slack/authorization.ts';

const box = createSecretBox([{ id: 'k1', key: randomBytes(32) }]);
const EXPIRES_AT_SECONDS = 1_700_003_600;
const state = sealState({ code: 'C0de', expiresAtSeconds: EXPIRES_AT_SECONDS }, box.seal);
const openAt = (text: string, nowMs: number) => openState(text, { open: box.open, nowMs });

test('a state opens until the last millisecond before it expires', (t) => {
  t.deepEqual(openAt(state, EXPIRES_AT_SECONDS * 1000 - 1), { outcome: 'good', code: 'C0de' });
  t.deepEqual(openAt(state, EXPIRES_AT_SECONDS * 1000), { outcome: 'expired' });
});

test('a state with other keys or another purpose, altered or malformed, is foreign', (t) => {
  const others = [
    sealState(
      { code: 'C0de', expiresAtSeconds: EXPIRES_AT_SECONDS },
      createSecretBox([{ id: 'k1', key: randomBytes(32) }]).seal,
    ),
    box.seal('{"code":"C0de","expires_at":1700003600}', 'channel:nch_1:url'),
    ...Array.from(
      { length: state.length - 1 },
      (_, at) => `${state.slice(0, at)}${state[at] === 'A' ? 'B' : 'A'}${state.slice(at + 1)}`,
    ),
    state.slice(0, -4),
    '',
    'v1.k1.',
    '{"code":"C0de","expires_at":9999999999}',
    '\u0000',
  ];
  for (const other of others) t.deepEqual(openAt(other, 0), { outcome: 'foreign' }, other);
});
