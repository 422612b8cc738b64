import type { LookupAddress, LookupOptions } from 'node:dns';
import test from 'ava';
import { BLOCKED_CODE, createGuardedLookup } from '../../net/address-guard.ts';

type Answer = { error: NodeJS.ErrnoException | null; address: string | LookupAddress[] };

function ask(hostname: string, options: LookupOptions): Promise<Answer> {
  return new Promise((resolve) => {
    createGuardedLookup({ allowPrivateNetwork: false })(hostname, options, (error, address) =>
      resolve({ error, address }),
    );
  });
}

for (const all of [true, false]) {
  test(`a name with private addresses only is blocked when a socket asks for ${all ? 'all' : 'one'}`, async (t) => {
    const { error } = await ask('localhost', { all });
    t.is(error?.code, BLOCKED_CODE);
  });

  test(`a public address passes when a socket asks for ${all ? 'all addresses' : 'one address'}`, async (t) => {
    const { error, address } = await ask('8.8.8.8', { all });
    t.is(error, null);
    t.deepEqual(address, all ? [{ address: '8.8.8.8', family: 4 }] : '8.8.8.8');
  });
}

test('a name that does not exist fails as it does without the guard', async (t) => {
  const { error } = await ask('no-such-name.invalid', { all: true });
  t.truthy(error);
  t.not(error?.code, BLOCKED_CODE);
});
