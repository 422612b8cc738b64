import test from 'ava';
import { parseTarget } from '../../core/targets.ts';
import { until } from '../helpers/until.ts';
import { DISGUISED_URLS, ELSEWHERE, IMPOSSIBLE, LOOPBACK, NAMES } from './address-forms.ts';
import { startWatchman, takeOverResolver, type Resolver, type Watchman } from './private-network.ts';
import { openWaysIn, type WaysIn } from './ways-in.ts';
import { startWhoisRoot, type WhoisRoot } from './whois-root.ts';

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
  guarded = openWaysIn({ root, refer, allowPrivateNetwork: false, timeoutMs: 5000 });
  unguarded = openWaysIn({ root, refer, allowPrivateNetwork: true, timeoutMs: 200 });
});

test.after.always(async () => {
  await guarded.close();
  await unguarded.close();
  resolver.restore();
  watchman.close();
  whois.close();
});

/** What the guard says, or whoever found before it that there is no such host. */
const REFUSED = /blocked|no public address|unsupported|no vendor|no URL|must be|must not carry|No registry is known|no address in DNS|nxdomain/i;

const WAYS = ['http', 'https', 'tcp', 'udp', 'icmp', 'dns', 'vendor', 'webhook', 'whois', 'rdap'] as const;
const NAMED = Object.keys(NAMES);

test.serial('there are more than sixty forms of addresses', (t) => {
  t.true(LOOPBACK.length + ELSEWHERE.length > 60);
});

for (const way of WAYS) {
  for (const [what, forms] of Object.entries({ 'this machine': LOOPBACK, 'private places elsewhere': ELSEWHERE, 'no place at all': IMPOSSIBLE, 'private places by name': NAMED })) {
    test.serial(`none of ${forms.length} ways to write ${what} is contacted as ${way}`, async (t) => {
      const before = watchman.seen();
      for (const form of forms) t.regex(await guarded.toHosts[way](form, watchman.port), REFUSED, form);
      t.is(watchman.seen(), before);
    });
  }
}

for (const way of ['http', 'vendor', 'webhook', 'rdap'] as const) {
  test.serial(`none of ${DISGUISED_URLS.length} URLs in disguise is contacted as ${way}`, async (t) => {
    const before = watchman.seen();
    for (const make of DISGUISED_URLS) t.regex(await guarded.toUrls[way](make(watchman.port)), REFUSED, make(watchman.port));
    t.is(watchman.seen(), before);
  });
}

// What is refused above would have been a connection: each of these forms leads to the watchman where nothing guards it.
for (const way of ['http', 'tcp', 'udp', 'dns', 'vendor', 'webhook', 'rdap', 'whois'] as const) {
  test.serial(`without the guard each way to write this machine is contacted as ${way}`, async (t) => {
    for (const form of ['127.0.0.1', '127.1', '0x7f000001', '１２７.０.０.１', 'LocalHost.']) {
      const before = watchman.seen();
      await unguarded.toHosts[way](form, watchman.port);
      t.true(await until(() => watchman.seen() > before), form);
    }
  });
}

test.serial('a host that is no host is refused when it is written', (t) => {
  for (const form of IMPOSSIBLE) {
    t.false(parseTarget('http', `http://${form}/`).ok, form);
    t.false(parseTarget('tcp', `${form}:80`).ok, form);
    if (form !== '::1') t.false(parseTarget('icmp', form).ok, form);
  }
});

test.serial('where a host is written alone, an address must be written as it is', (t) => {
  const disguised = LOOPBACK.filter((form) => !/^(?:\d+\.){3}\d+$|^\[|^[a-z]|ｌ|ⓛ/i.test(form));
  t.true(disguised.length >= 20);
  for (const form of disguised) {
    t.false(parseTarget('tcp', `${form}:80`).ok, form);
    t.false(parseTarget('udp', `${form}:80`).ok, form);
    t.false(parseTarget('icmp', form).ok, form);
    t.false(parseTarget('dns', `dns://${form}/a.example`).ok, form);
  }
});
