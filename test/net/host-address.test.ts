import { execFileSync } from 'node:child_process';
import dgram from 'node:dgram';
import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { parseTarget } from '../../core/monitors/targets.ts';
import { isRefusedAddress } from '../../net/address-guard.ts';
import { holdingBodies } from '../../net/body-budget.ts';
import { BLOCKED_CODE } from '../../net/failure.ts';
import { NameLookups, createGuardedLookup, parseHostPort, resolveHost } from '../../net/host-address.ts';
import { createProbeClient } from '../../net/http-client.ts';
import { createTcpClient } from '../../net/tcp-exchange.ts';
import { createUdpClient } from '../../net/udp-exchange.ts';
import { requestTo } from '../helpers/exchange.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const OPEN = { allowPrivateNetwork: true, deadlineMs: 60_000 };
const GUARDED = { allowPrivateNetwork: false, deadlineMs: 60_000 };

test('an address resolves to itself without a lookup', async (t) => {
  t.deepEqual(await resolveHost('127.0.0.1', OPEN), {
    outcome: 'found',
    addresses: [{ address: '127.0.0.1', family: 4 }],
    dnsMs: null,
  });
  t.deepEqual(await resolveHost('::1', OPEN), {
    outcome: 'found',
    addresses: [{ address: '::1', family: 6 }],
    dnsMs: null,
  });
  t.deepEqual(await resolveHost('1.1.1.1', GUARDED), {
    outcome: 'found',
    addresses: [{ address: '1.1.1.1', family: 4 }],
    dnsMs: null,
  });
});

test('a name resolves to its addresses, and the lookup is timed', async (t) => {
  const host = await resolveHost('localhost', OPEN);
  t.true(host.outcome === 'found' && host.addresses.length > 0 && host.dnsMs !== null && host.dnsMs >= 0);
});

test('the guard refuses private addresses and names that resolve only to those', async (t) => {
  for (const host of ['127.0.0.1', '::1', '::ffff:10.0.0.1', '192.168.1.1', 'localhost'])
    t.like(await resolveHost(host, GUARDED), { outcome: 'failed', cause: 'blocked_target' });
});

test('only an address is refused without a lookup', (t) => {
  t.true(isRefusedAddress('10.0.0.1', GUARDED));
  t.false(isRefusedAddress('10.0.0.1', OPEN));
  t.false(isRefusedAddress('1.1.1.1', GUARDED));
  t.false(isRefusedAddress('localhost', GUARDED));
});

test('a name without addresses is a lookup failure', async (t) => {
  const host = await resolveHost('no-such-name.invalid', OPEN);
  t.true(host.outcome === 'failed' && host.cause.startsWith('dns_'));
});

test('a lookup that takes longer than the deadline, or that is aborted, is a timeout', async (t) => {
  // Opening a pipe for reading waits for a writer, on a thread that lookups also need.
  const pipe = join(await temporaryFolder(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const opened = Array.from({ length: Number(process.env['UV_THREADPOOL_SIZE'] ?? 4) }, () => open(pipe));
  // Each test uses different names, because concurrent lookups of one name are shared.
  const hosts = await Promise.all([
    resolveHost('looked-up-late.invalid', { ...OPEN, deadlineMs: 50 }),
    resolveHost('looked-up-late.invalid', { ...OPEN, deadlineMs: 3_600_000, signal: AbortSignal.abort() }),
  ]);
  const writer = openSync(pipe, 'r+');
  for (const handle of await Promise.all(opened)) await handle.close();
  closeSync(writer);
  for (const host of hosts)
    t.like(host, { outcome: 'failed', cause: 'timeout', reason: 'Timed out during the DNS lookup' });
});

type Answer = { error: NodeJS.ErrnoException | null; address: string | LookupAddress[] };

function ask(hostname: string, options: LookupOptions): Promise<Answer> {
  return new Promise((resolve) => {
    createGuardedLookup({ allowPrivateNetwork: false })(hostname, options, (error, address) =>
      resolve({ error, address }),
    );
  });
}

for (const all of [true, false]) {
  test(`a name with only private addresses is blocked when a socket requests ${all ? 'all' : 'one'}`, async (t) => {
    const { error } = await ask('localhost', { all });
    t.is(error?.code, BLOCKED_CODE);
  });

  test(`a public address passes when a socket requests ${all ? 'all addresses' : 'one address'}`, async (t) => {
    const { error, address } = await ask('8.8.8.8', { all });
    t.is(error, null);
    t.deepEqual(address, all ? [{ address: '8.8.8.8', family: 4 }] : '8.8.8.8');
  });
}

test('a nonexistent name fails, but not as blocked', async (t) => {
  const { error } = await ask('no-such-name.invalid', { all: true });
  t.truthy(error);
  t.not(error?.code, BLOCKED_CODE);
});

/** Replaces the system's lookup: names with `dead` hang until released, all others have an address. */
function replaceLookup(t: ExecutionContext) {
  const held: (() => void)[] = [];
  const asked: string[] = [];
  const original = dns.lookup;
  t.teardown(() => void Object.assign(dns, { lookup: original }));
  const lookup = (name: string, _options: object, found: (error: null, addresses: LookupAddress[]) => void) => {
    asked.push(name);
    const answer = () => found(null, [{ address: '192.0.2.1', family: 4 }]);
    if (name.includes('dead')) held.push(answer);
    else setImmediate(answer);
  };
  Object.assign(dns, { lookup });
  return { asked, letGo: () => held.splice(0).forEach((answer) => answer()) };
}

/** Replaces the system's lookup with one that finds the same addresses for every name. */
function replaceAddresses(t: ExecutionContext, addresses: readonly LookupAddress[]) {
  const original = dns.lookup;
  t.teardown(() => void Object.assign(dns, { lookup: original }));
  const lookup = (_name: string, _options: object, found: (error: null, addresses: readonly LookupAddress[]) => void) =>
    void setImmediate(() => found(null, addresses));
  Object.assign(dns, { lookup });
}

test.serial("eight of a name's thousands of addresses are contacted, from both families", async (t) => {
  const v4 = Array.from({ length: 4000 }, (_, n) => ({ address: `127.7.${n >> 8}.${n & 255}`, family: 4 }));
  const v6 = Array.from({ length: 4000 }, (_, n) => ({ address: `fd00::${n.toString(16)}`, family: 6 }));
  replaceAddresses(t, [...v6.slice(0, 3), ...v6.slice(0, 3), ...v6, ...v4]);
  const host = await resolveHost('many.test', OPEN);
  t.deepEqual(host.outcome === 'found' && host.addresses, [...v6.slice(0, 7), v4[0]]);
  for (const family of [4, 6]) {
    replaceAddresses(t, family === 4 ? v4 : v6);
    const one = await resolveHost('many.test', OPEN);
    t.deepEqual(one.outcome === 'found' && one.addresses, (family === 4 ? v4 : v6).slice(0, 8));
  }
  t.like(await resolveHost('many.test', GUARDED), { outcome: 'failed', cause: 'blocked_target' });

  // No service listens on any of them, so each is tried in turn.
  replaceAddresses(t, v4);
  let attempts = 0;
  const { emit } = Socket.prototype;
  t.teardown(() => void Object.assign(Socket.prototype, { emit }));
  Object.assign(Socket.prototype, {
    emit(this: Socket, event: string, ...details: unknown[]) {
      if (event === 'connectionAttempt') attempts += 1;
      return Reflect.apply(emit, this, [event, ...details]);
    },
  });
  const http = createProbeClient(OPEN);
  const request = { ...OPEN, host: 'many.test', port: 9, payload: Buffer.alloc(1) };
  t.like(await createTcpClient(OPEN)({ ...request, receive: null }), { cause: 'conn_refused' });
  t.is(attempts, 8);
  t.like(await http(requestTo(0, { href: 'http://many.test:9/' })), { cause: 'conn_refused' });
  t.is(attempts, 16);

  // The ninth address would reply.
  const ninth = dgram.createSocket('udp4', (_datagram, from) => ninth.send('here', from.port, from.address));
  t.teardown(() => void ninth.close());
  await new Promise<void>((bound) => void ninth.bind(0, v4[8]?.address, bound));
  const silent = { outcome: 'silent', isRefused: true };
  t.like(await createUdpClient(OPEN)({ ...request, port: ninth.address().port }), silent);
});

const outcomeOf = (lookups: NameLookups, name: string): Promise<string> =>
  new Promise((resolve) => lookups.lookUp(name, {}, (error) => resolve(error?.code ?? 'found')));

test.serial('hanging lookups do not block other names, and lookups beyond the limit are not made', async (t) => {
  const { asked, letGo } = replaceLookup(t);
  const lookups = new NameLookups(4);
  const hanging = outcomeOf(lookups, 'a.dead.example');
  t.is(await outcomeOf(lookups, 'good.test'), 'found');
  await delay(1100);
  const more = ['b.dead.example', 'c.dead.example'].map((name) => outcomeOf(lookups, name));
  t.is(await outcomeOf(lookups, 'good.test'), 'found');
  t.deepEqual(await Promise.all(more), ['ERR_LOOKUPS_BUSY', 'ERR_LOOKUPS_BUSY']);
  t.deepEqual(asked, ['a.dead.example', 'good.test', 'good.test']);

  const others = ['dead.one.test', 'dead.two.test', 'dead.three.test'].map((name) => outcomeOf(lookups, name));
  t.is(await outcomeOf(lookups, 'good.test'), 'ERR_LOOKUPS_BUSY');
  const waiting = outcomeOf(lookups, 'good.test');
  letGo();
  t.deepEqual(
    await Promise.all([hanging, ...others, waiting]),
    Array.from({ length: 5 }, () => 'found'),
  );
});

test.serial('hanging lookups of one domain or one account leave most lookups to others', async (t) => {
  const { asked, letGo } = replaceLookup(t);
  const lookups = new NameLookups(8);
  const hanging = ['a', 'b', 'c'].map((name) => outcomeOf(lookups, `${name}.dead.test`));
  t.deepEqual(asked, ['a.dead.test', 'b.dead.test']);
  const ofAccount = await holdingBodies('ten_1', async () =>
    ['dead.one.test', 'dead.two.test', 'dead.three.test'].map((name) => outcomeOf(lookups, name)),
  );
  t.deepEqual(asked.slice(2), ['dead.one.test', 'dead.two.test']);
  t.is(await holdingBodies('ten_2', () => outcomeOf(lookups, 'good.example')), 'found');
  t.is(await hanging[2], 'ERR_LOOKUPS_BUSY');
  t.is(await ofAccount[2], 'ERR_LOOKUPS_BUSY');
  await delay(1100);
  const ofFirst = (name: string) => holdingBodies('ten_1', () => outcomeOf(lookups, name));
  t.is(await ofFirst('dead.four.test'), 'ERR_LOOKUPS_BUSY', 'the hanging ones are slow by now and still count');
  const both = [ofFirst('good.example'), holdingBodies('ten_2', () => outcomeOf(lookups, 'good.example'))];
  t.deepEqual(await Promise.all(both), ['found', 'found'], 'another account may look up the same name');
  letGo();
  t.deepEqual(await Promise.all([...hanging.slice(0, 2), ...ofAccount.slice(0, 2)]), [
    'found',
    'found',
    'found',
    'found',
  ]);
});

test.serial('domains below the same private suffix have separate lookup limits', async (t) => {
  const { asked, letGo } = replaceLookup(t);
  const lookups = new NameLookups(8);
  const hanging = ['a.dead.eu.org', 'b.dead.eu.org', 'dead.uk.com'].map((name) => outcomeOf(lookups, name));
  hanging.push(outcomeOf(lookups, 'dead.shop.eu.org'), outcomeOf(lookups, 'dead.bank.eu.org'));
  t.is(asked.length, 5);
  t.is(await outcomeOf(lookups, 'c.dead.eu.org'), 'ERR_LOOKUPS_BUSY');
  letGo();
  await Promise.all(hanging);
});

test.serial('one fast name does not make its domain count as fast while others of it hang', async (t) => {
  const { letGo } = replaceLookup(t);
  const lookups = new NameLookups(16);
  const hanging = [outcomeOf(lookups, 'dead-a.shop.test')];
  await delay(1100);
  t.is(await outcomeOf(lookups, 'fast.shop.test'), 'found');
  hanging.push(outcomeOf(lookups, 'dead-b.shop.test'));
  t.is(await outcomeOf(lookups, 'dead-c.shop.test'), 'ERR_LOOKUPS_BUSY');
  letGo();
  t.deepEqual(await Promise.all(hanging), ['found', 'found']);

  t.is(await outcomeOf(lookups, 'fast.shop.test'), 'found');
  const again = ['dead-a', 'dead-b', 'dead-c'].map((name) => outcomeOf(lookups, `${name}.shop.test`));
  letGo();
  t.deepEqual(await Promise.all(again), ['found', 'found', 'found']);
});

test.serial('a failed lookup is a DNS error, not a connection error', async (t) => {
  const original = dns.lookup;
  t.teardown(() => void Object.assign(dns, { lookup: original }));
  const failed = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' });
  Object.assign(dns, { lookup: (_name: string, _options: object, found: (error: Error) => void) => found(failed) });
  const exchange = await createTcpClient(OPEN)({
    host: 'shop.test',
    port: 443,
    deadlineMs: 60_000,
    payload: new Uint8Array(),
    receive: null,
  });
  t.like(exchange, { outcome: 'failed', cause: 'dns_error', reason: 'The DNS lookup failed' });
  t.is(exchange.timings.dnsMs, null);
});

test.serial('concurrent lookups of the same name are shared', async (t) => {
  const { asked, letGo } = replaceLookup(t);
  const lookups = new NameLookups(4);
  const both = [outcomeOf(lookups, 'a.dead.example'), outcomeOf(lookups, 'a.dead.example')];
  letGo();
  t.deepEqual(await Promise.all(both), ['found', 'found']);
  t.deepEqual(asked, ['a.dead.example']);
});

const GOOD: [text: string, host: string, port: number][] = [
  ['example.com:80', 'example.com', 80],
  ['EXAMPLE.com.:65535', 'example.com.', 65_535],
  ['127.0.0.1:1', '127.0.0.1', 1],
  ['[2001:DB8:0::1]:5432', '2001:db8::1', 5432],
  ['[::ffff:127.0.0.1]:80', '::ffff:7f00:1', 80],
  ['bücher.example:443', 'xn--bcher-kva.example', 443],
  ['_sip._udp.example.com:5060', '_sip._udp.example.com', 5060],
];
for (const [text, host, port] of GOOD) {
  test(`${text} is port ${port} of ${host}`, (t) => t.deepEqual(parseHostPort(text), { host, port }));
}

// A disguised address is parsed to its real form, so that the guard checks it.
for (const host of ['0x7f.1', '2130706433', '0177.0.0.1', '127.1', '１２７.0.0.1']) {
  test(`${host} is parsed as the address that it encodes`, (t) =>
    t.deepEqual(parseHostPort(`${host}:80`), { host: '127.0.0.1', port: 80 }));
}

for (const text of [
  '',
  ':80',
  'example.com',
  'example.com:',
  'example.com:0',
  'example.com:65536',
  'example.com:8o',
  '::1:80',
  '[::1]',
  '[::1%lo]:80',
  '[example.com]:80',
  'a b:80',
  'user@example.com:80',
  'example.com:80/',
  'http://example.com:80',
  'example.com:80:80',
]) {
  test(`${JSON.stringify(text)} is rejected as a host and port`, (t) => t.is(parseHostPort(text), null));
}

test('every valid tcp target of a monitor is parsed', (t) => {
  const host = fc.oneof(
    fc.domain(),
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.string({ unit: 'grapheme' }),
  );
  fc.assert(
    fc.property(host, fc.integer({ min: 0, max: 70_000 }), (name, port) => {
      const target = `${name}:${port}`;
      fc.pre(parseTarget('tcp', target).ok);
      t.like(parseHostPort(target), { port });
    }),
  );
});
