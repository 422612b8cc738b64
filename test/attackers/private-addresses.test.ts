import { spawnSync } from 'node:child_process';
import test from 'ava';
import { parseTarget } from '../../core/monitors/targets.ts';
import { runCommand } from '../helpers/command.ts';
import { until } from '../helpers/until.ts';
import { DISGUISED_URLS, ELSEWHERE, IMPOSSIBLE, LOOPBACK, NAMES } from './address-forms.ts';
import type { OwnAddressReport } from './own-address-process.ts';
import { startWatchman, takeOverResolver, type Resolver, type Watchman } from './private-network.ts';
import { openWaysIn, type WaysIn } from './ways-in.ts';
import { startWhoisRoot, type WhoisRoot } from './whois-root.ts';

/** Time limit of contacts that are refused without waiting, longer than a busy machine delays any, in milliseconds. */
const AMPLE_MS = 60_000;

let watchman: Watchman;
let resolver: Resolver;
let whois: WhoisRoot;
let guarded: WaysIn;
let unguarded: WaysIn;

test.before(async () => {
  watchman = await startWatchman();
  resolver = takeOverResolver();
  whois = await startWhoisRoot();
  const { root, refer } = whois;
  guarded = openWaysIn({ root, refer, allowPrivateNetwork: false, timeoutMs: AMPLE_MS });
  unguarded = openWaysIn({ root, refer, allowPrivateNetwork: true, timeoutMs: 200 });
});

test.after.always(async () => {
  await guarded.close();
  await unguarded.close();
  resolver.restore();
  watchman.close();
  whois.close();
});

/** Matches the guard's error, or the earlier one that there is no such host. */
const REFUSED = new RegExp(
  'blocked|no public address|unsupported|no longer in the catalog|no URL|must be|must not contain|No registry is ' +
    'known|does not resolve|nxdomain',
  'i',
);

const WAYS = ['http', 'https', 'tcp', 'udp', 'icmp', 'dns', 'vendor', 'webhook', 'whois', 'rdap'] as const;
const NAMED = Object.keys(NAMES);

test.serial('there are more than sixty forms of addresses', (t) => {
  t.true(LOOPBACK.length + ELSEWHERE.length > 60);
});

for (const way of WAYS) {
  for (const [what, forms] of Object.entries({
    'loopback addresses': LOOPBACK,
    'other private addresses': ELSEWHERE,
    'invalid addresses': IMPOSSIBLE,
    'private addresses by name': NAMED,
  })) {
    test.serial(`none of ${forms.length} ways to write ${what} is contacted as ${way}`, async (t) => {
      const before = watchman.connections();
      for (const form of forms) t.regex(await guarded.toHosts[way](form, watchman.port), REFUSED, form);
      t.is(watchman.connections(), before);
    });
  }
}

for (const way of ['http', 'vendor', 'webhook', 'rdap'] as const) {
  test.serial(`none of ${DISGUISED_URLS.length} disguised URLs is contacted as ${way}`, async (t) => {
    const before = watchman.connections();
    for (const make of DISGUISED_URLS)
      t.regex(await guarded.toUrls[way](make(watchman.port)), REFUSED, make(watchman.port));
    t.is(watchman.connections(), before);
  });
}

for (const way of WAYS.filter((one) => one !== 'dns' && one !== 'whois' && one !== 'rdap')) {
  test.serial(
    `a cloud metadata host is not contacted as ${way}, by address or name, even with private networks allowed`,
    async (t) => {
      for (const form of ['169.254.169.254', '168.63.129.16', 'metadata.google.internal', 'metadata.example'])
        t.regex(await unguarded.toHosts[way](form, watchman.port), /blocked|no public address|no vendor/i, form);
    },
  );
}

/** Public address of a temporary network namespace that contains nothing else. */
const PUBLIC_ADDRESS = '1.2.3.4';
const SET_UP = `ip link set lo up && ip address add ${PUBLIC_ADDRESS}/32 dev lo`;
const ENTER = ['unshare', '--net', '--map-root-user', 'sh', '-c'] as const;

// Not every machine lets its users create networks; the guard's own test covers the addresses of this machine.
if (spawnSync(ENTER[0], [...ENTER.slice(1), SET_UP]).status === 0) {
  test.serial('a server on a public address of this machine is not contacted', async (t) => {
    const command = `${SET_UP} && exec '${process.execPath}' test/attackers/own-address-process.ts ${PUBLIC_ADDRESS}`;
    const { status, stdout, stderr } = await runCommand([...ENTER, command], {});
    t.is(status, 0, stderr);
    const expected = { http: 'blocked_target', tcp: 'blocked_target', connections: 0 };
    t.deepEqual<OwnAddressReport, OwnAddressReport>(JSON.parse(stdout), expected);
  });
}

// Proves that the refusals above prevent connections: without the guard each of these forms reaches the watchman.
for (const way of ['http', 'tcp', 'udp', 'dns', 'vendor', 'webhook', 'rdap', 'whois'] as const) {
  test.serial(`without the guard every form of this machine's address is contacted as ${way}`, async (t) => {
    for (const form of ['127.0.0.1', '127.1', '0x7f000001', '１２７.０.０.１', 'LocalHost.']) {
      const before = watchman.connections();
      // A machine that was delayed past a deadline tries again.
      const isContacted = async () => {
        await unguarded.toHosts[way](form, watchman.port);
        return watchman.connections() > before;
      };
      t.true(await until(isContacted), form);
    }
  });
}

test.serial('an impossible host is rejected as a target', (t) => {
  for (const form of IMPOSSIBLE) {
    t.false(parseTarget('http', `http://${form}/`).ok, form);
    t.false(parseTarget('tcp', `${form}:80`).ok, form);
    if (form !== '::1') t.false(parseTarget('icmp', form).ok, form);
  }
});

test.serial('tcp, udp, icmp and dns targets reject disguised addresses', (t) => {
  const disguised = LOOPBACK.filter((form) => !/^(?:\d+\.){3}\d+$|^\[|^[a-z]|ｌ|ⓛ/i.test(form));
  t.true(disguised.length >= 20);
  for (const form of disguised) {
    t.false(parseTarget('tcp', `${form}:80`).ok, form);
    t.false(parseTarget('udp', `${form}:80`).ok, form);
    t.false(parseTarget('icmp', form).ok, form);
    t.false(parseTarget('dns', `dns://${form}/a.example`).ok, form);
  }
});
