import test from 'ava';
import { findInability, findWithholding } from '../../../core/agents/wire.ts';

test('the first key that an agent presents is accepted, and from then on only that one', (t) => {
  t.is(findWithholding(null, null), 'no_key');
  t.is(findWithholding('a', null), null);
  t.is(findWithholding('a', 'a'), null);
  t.is(findWithholding('b', 'a'), 'other_key');
  t.is(findWithholding(null, 'a'), 'no_key');
});

test('an agent cannot run a check type it does not support or a check whose secrets it was not given', (t) => {
  const agent = (secretsWithheld: 'no_key' | 'other_key' | null) => ({
    capabilities: ['http', 'cert'],
    secretsWithheld,
  });
  t.is(findInability(agent('no_key'), { type: 'tcp', hasSecrets: true }), 'capability');
  t.is(findInability(agent('no_key'), { type: 'http', hasSecrets: false }), null);
  t.is(findInability(agent('no_key'), { type: 'http', hasSecrets: true }), 'no_key');
  t.is(findInability(agent('other_key'), { type: 'http', hasSecrets: true }), 'other_key');
  t.is(findInability(agent(null), { type: 'http', hasSecrets: true }), null);
  t.is(
    findInability({ capabilities: null, secretsWithheld: null }, { type: 'tcp', hasSecrets: true }),
    null,
    'it has not checked in yet',
  );
});
