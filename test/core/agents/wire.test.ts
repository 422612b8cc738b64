import test from 'ava';
import { findInability } from '../../../core/agents/wire.ts';

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
