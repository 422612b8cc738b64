import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import test from 'ava';
import { isPublicAddress } from '../../net/address-guard.ts';
import { until } from '../helpers/until.ts';
import { startWatchman, takeOverResolver, type Resolver, type Watchman } from './private-network.ts';
import { NOTHING_YET, openWaysIn, type WaysIn } from './ways-in.ts';
import { startWhoisRoot, type WhoisRoot } from './whois-root.ts';

let watchman: Watchman;
let resolver: Resolver;
let whois: WhoisRoot;
let ways: WaysIn;

/** Unassigned addresses that the guard allows: they are in the allocated part of IPv6, but no one has this piece. */
const NOWHERE = '2fff::1';
const NOWHERE_ELSE = '2fff::2';
/**
 * Time limit for connecting to those addresses, which never respond; on a busy machine the attempt must start within
 * it. In milliseconds.
 */
const TIMEOUT_MS = 500;

test.before(async () => {
  watchman = await startWatchman();
  resolver = takeOverResolver();
  whois = await startWhoisRoot();
  const { root, refer } = whois;
  ways = openWaysIn({ allowPrivateNetwork: false, timeoutMs: TIMEOUT_MS, root, refer });
});

test.after.always(async () => {
  await ways.close();
  resolver.restore();
  watchman.close();
  whois.close();
});

/** Returns the addresses of tcp connection attempts during `work`, which sees them, except to the WHOIS root. */
async function attempts(work: (tried: readonly string[]) => Promise<unknown>): Promise<string[]> {
  const tried: string[] = [];
  const follow = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.on('connectionAttempt', (address: string, port: number) => {
      if (port === watchman.port) tried.push(address);
    });
  };
  subscribe('net.client.socket', follow);
  await work(tried).finally(() => unsubscribe('net.client.socket', follow));
  return tried;
}

const ALL = ['http', 'https', 'tcp', 'udp', 'icmp', 'dns', 'vendor', 'webhook', 'whois', 'rdap'] as const;
const OVER_TCP = ['http', 'https', 'tcp', 'vendor', 'webhook', 'whois', 'rdap'] as const;

test('the guard considers the addresses of these tests public', (t) => {
  t.true(isPublicAddress(NOWHERE) && isPublicAddress(NOWHERE_ELSE));
});

for (const way of ALL) {
  test.serial(
    `a name that resolves to a public address first and a private one later is looked up once, as ${way}`,
    async (t) => {
      const before = watchman.connections();
      const name = `rebinding-${way}.example`;
      resolver.answers.set(name, [[NOWHERE], ['127.0.0.1'], ['::1']]);
      const countLookups = () => resolver.lookedUp.filter((lookedUp) => lookedUp === name).length;
      // Again if a stall used up the time limit before the lookup.
      await until(async () => {
        await ways.toHosts[way](name, watchman.port);
        return countLookups() > 0;
      });
      t.is(countLookups(), 1);
      t.is(watchman.connections(), before);
    },
  );

  test.serial(`private addresses of a name that also has public ones are not contacted, as ${way}`, async (t) => {
    const before = watchman.connections();
    const lists = [
      ['127.0.0.1', NOWHERE],
      [NOWHERE, '127.0.0.1', '::1'],
      ['::ffff:127.0.0.1', '::1', NOWHERE, '169.254.169.254'],
    ];
    for (const [index, list] of lists.entries()) resolver.answers.set(`mixed-${index}-${way}.example`, [list]);
    await Promise.all(lists.map((_, index) => ways.toHosts[way](`mixed-${index}-${way}.example`, watchman.port)));
    t.is(
      resolver.lookedUp.filter((name) => name.endsWith(`-${way}.example`) && name.startsWith('mixed-')).length,
      lists.length,
    );
    t.is(watchman.connections(), before);
  });
}

for (const way of OVER_TCP) {
  test.serial(`only the address that was checked is connected to, as ${way}`, async (t) => {
    const name = `checked-${way}.example`;
    const tried = await attempts((soFar) =>
      // A machine that was delayed past the time limit tries again.
      until(async () => {
        resolver.answers.set(name, [['10.0.0.1', NOWHERE, '127.0.0.1'], ['127.0.0.1']]);
        await ways.toHosts[way](name, watchman.port);
        return soFar.length > 0;
      }),
    );
    t.deepEqual([...new Set(tried)], [NOWHERE]);
  });
}

// A vendor page is read for all its callers, and the read continues after one of them times out: no second lookup
// starts meanwhile.
for (const way of OVER_TCP.filter((one) => one !== 'vendor')) {
  test.serial(`a name that was public at the last check is looked up and checked again, as ${way}`, async (t) => {
    const name = `turned-${way}.example`;
    const before = watchman.connections();
    const tried = await attempts(async (soFar) => {
      await until(async () => {
        resolver.answers.set(name, [[NOWHERE], ['127.0.0.1']]);
        await ways.toHosts[way](name, watchman.port);
        return soFar.length > 0;
      });
      let said = NOTHING_YET;
      // On a busy machine a lookup may time out before the WHOIS root has answered.
      for (let polls = 0; said === NOTHING_YET && polls < 20; polls += 1)
        said = await ways.toHosts[way](name, watchman.port);
      t.regex(said, /blocked|no public address/);
    });
    t.deepEqual([...new Set(tried)], [NOWHERE]);
    t.is(watchman.connections(), before);
  });
}
