import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, open as openFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Answer } from 'dns-packet';
import { judgeDns } from '../../core/checks/dns/judge.ts';
import type { DnsObservation } from '../../core/checks/dns/observation.ts';
import type { DnsRecordType } from '../../core/checks/dns/records.ts';
import type { CheckTarget, DnsRecordSpec } from '../../core/monitors/monitor.ts';
import { openDnsProbe } from '../../probes/dns.ts';
import { createSearchDomains, hideInObservation } from '../../probes/dns/own-resolvers.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { RCODES, startDnsServer, type DnsReply, type DnsServer } from '../helpers/dns-server.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { until } from '../helpers/until.ts';

const { probe, close } = openDnsProbe({ allowPrivateNetwork: true, dnsResolvers: [] });
test.after.always(close);

function dnsTarget(
  target: string,
  types: readonly DnsRecordType[] = [],
  overrides: Partial<CheckTarget> = {},
): CheckTarget {
  const records = types.map((type): DnsRecordSpec => ({ type, mode: 'exists' }));
  return httpTarget({
    type: 'dns',
    target,
    method: null,
    expectedStatus: null,
    checkSpec: { dns: { records } },
    ...overrides,
  });
}

async function verdictOf(target: CheckTarget, probeOf = probe) {
  return judgeDns({ target, observation: await probeOf(target) });
}

function answersOf(observation: DnsObservation) {
  return observation.outcome === 'queried' ? observation.answers : observation.cause;
}

/** Starts a server with A and AAAA records of name.example. */
function startNameServer(t: ExecutionContext, address = '192.0.2.1', host?: string) {
  return startDnsServer(t, { 'A name.example': { answers: [a(address)] }, 'AAAA name.example': {} }, host);
}

const a = (data: string, name = 'name.example'): Answer => ({ type: 'A', name, ttl: 60, data });

/** Returns the queries of a server without repeats: one that gets no answer within a second is sent again. */
function distinctQueries({ received }: DnsServer): string[] {
  return [...new Set(received.map(({ transport, type, name }) => `${transport} ${type} ${name}`))];
}

const RECORDS: Record<DnsRecordType, { answers: Answer[]; records: string[] }> = {
  A: { answers: [a('192.0.2.2'), a('192.0.2.1')], records: ['192.0.2.1', '192.0.2.2'] },
  AAAA: { answers: [{ type: 'AAAA', name: 'name.example', data: '2001:db8:0:0::1' }], records: ['2001:db8::1'] },
  CNAME: { answers: [{ type: 'CNAME', name: 'name.example', data: 'Other.Example' }], records: ['other.example'] },
  MX: {
    answers: [
      { type: 'MX', name: 'name.example', data: { preference: 10, exchange: 'Mail.Example' } },
      { type: 'MX', name: 'name.example', data: { preference: 0, exchange: '.' } },
    ],
    records: ['0 .', '10 mail.example'],
  },
  NS: { answers: [{ type: 'NS', name: 'name.example', data: 'ns1.example' }], records: ['ns1.example'] },
  TXT: {
    answers: [
      { type: 'TXT', name: 'name.example', data: ['v=DKIM1; p=MI', 'IB'] },
      { type: 'TXT', name: 'name.example', data: 'Größe "x"' },
    ],
    records: ['Größe "x"', 'v=DKIM1; p=MIIB'],
  },
  SOA: {
    answers: [
      {
        type: 'SOA',
        name: 'name.example',
        data: {
          mname: 'ns1.example',
          rname: 'hostmaster.example',
          serial: 4_026_010_101,
          refresh: 1,
          retry: 2,
          expire: 3,
          minimum: 4,
        },
      },
    ],
    records: ['ns1.example hostmaster.example 4026010101 1 2 3 4'],
  },
  SRV: {
    answers: [
      { type: 'SRV', name: 'name.example', data: { priority: 10, weight: 5, port: 5060, target: 'sip.example' } },
    ],
    records: ['10 5 5060 sip.example'],
  },
  CAA: {
    answers: [
      { type: 'CAA', name: 'name.example', data: { flags: 0, tag: 'issue', value: 'ca.example; policy=ev' } },
      { type: 'CAA', name: 'name.example', data: { flags: 128, tag: 'iodef', value: 'mailto:a@b.example' } },
    ],
    records: ['0 issue ca.example; policy=ev', '128 iodef mailto:a@b.example'],
  },
  PTR: { answers: [{ type: 'PTR', name: 'name.example', data: 'host.example' }], records: ['host.example'] },
};
for (const [type, { answers, records }] of Object.entries(RECORDS) as [
  DnsRecordType,
  { answers: Answer[]; records: string[] },
][]) {
  test(`${type} records are read in normalized form`, async (t) => {
    const server = await startDnsServer(t, { [`${type} name.example`]: { answers } });
    const observation = await probe(dnsTarget(`dns://${server.address}/name.example`, [type]));
    t.deepEqual(answersOf(observation), { [type]: { outcome: 'records', records } });
    t.deepEqual(distinctQueries(server), [`udp ${type} name.example`]);
  });
}

test('an address is found at the end of a CNAME chain', async (t) => {
  const answers: Answer[] = [
    { type: 'CNAME', name: 'name.example', data: 'b.example' },
    { type: 'CNAME', name: 'b.example', data: 'c.example' },
    a('192.0.2.7', 'c.example'),
  ];
  const server = await startDnsServer(t, { 'A name.example': { answers } });
  t.deepEqual(answersOf(await probe(dnsTarget(`dns://${server.address}/name.example`, ['A']))), {
    A: { outcome: 'records', records: ['192.0.2.7'] },
  });
});

test('a truncated response is retried over TCP', async (t) => {
  const answers = Array.from({ length: 200 }, (_, index) => a(`192.0.2.${index}`));
  const server = await startDnsServer(t, { 'A name.example': { answers, isTruncated: true } });
  const observation = await probe(dnsTarget(`dns://${server.address}/name.example`, ['A']));
  const answer = observation.outcome === 'queried' ? observation.answers.A : undefined;
  t.is(answer?.outcome === 'records' ? answer.records.length : 0, 200);
  t.deepEqual(distinctQueries(server), ['udp A name.example', 'tcp A name.example']);
});

test('an address as the target is looked up by its reverse name', async (t) => {
  const server = await startDnsServer(t, {
    'PTR 10.2.0.192.in-addr.arpa': {
      answers: [{ type: 'PTR', name: '10.2.0.192.in-addr.arpa', data: 'host.example' }],
    },
  });
  t.is((await verdictOf(dnsTarget(`dns://${server.address}/192.0.2.10`))).verdict, 'up');
});

test('an internationalized name is queried in its ASCII form', async (t) => {
  const server = await startDnsServer(t, {
    'A xn--gre-6ka8i.example': { answers: [a('192.0.2.1', 'xn--gre-6ka8i.example')] },
  });
  t.is((await verdictOf(dnsTarget(`dns://${server.address}/größe.example`, ['A']))).verdict, 'up');
});

test('each type is queried once, even if several records need it', async (t) => {
  const server = await startNameServer(t);
  const target = dnsTarget(`dns://${server.address}/name.example`, ['A', 'AAAA', 'A', 'A']);
  const queriedTypes = async () => {
    server.received.splice(0);
    await probe(target);
    return server.received.map(({ type }) => type).toSorted();
  };
  t.deepEqual(await withoutStall(queriedTypes), ['A', 'AAAA']);
});

test('each check sends a new query instead of using a cached response', async (t) => {
  const server = await startNameServer(t);
  const target = dnsTarget(`dns://${server.address}/name.example`, ['A']);
  t.is((await verdictOf(target)).verdict, 'up');
  server.zone.clear();
  t.is((await verdictOf(target)).cause, 'dns_nxdomain');
});

const FAILURES: [string, DnsReply, string][] = [
  ['NXDOMAIN', { rcode: RCODES.NXDOMAIN }, 'down dns_nxdomain'],
  ['no record of the type', {}, 'down dns_mismatch'],
  ['SERVFAIL', { rcode: RCODES.SERVFAIL }, 'down dns_error'],
  ['REFUSED', { rcode: RCODES.REFUSED }, 'down dns_error'],
  ['NOTIMP', { rcode: RCODES.NOTIMP }, 'down dns_error'],
  ['FORMERR', { rcode: RCODES.FORMERR }, 'down dns_error'],
];
for (const [what, reply, expected] of FAILURES) {
  test(`${what} from a named server is ${expected}`, async (t) => {
    const server = await startDnsServer(t, { 'A name.example': reply });
    const { verdict, cause } = await verdictOf(dnsTarget(`dns://${server.address}/name.example`, ['A']));
    t.is(`${verdict} ${cause}`, expected);
  });
}

test.serial('a silent server is queried two or three times and times out at the deadline', async (t) => {
  const server = await startDnsServer(t, { 'A name.example': { isSilent: true } });
  const target = dnsTarget(`dns://${server.address}/name.example`, ['A'], { timeoutMs: 3_000 });
  const observation = await probe(target);
  t.like(judgeDns({ target, observation }), { verdict: 'down', cause: 'timeout' });
  t.true(observation.latencyMs >= 2_995 && observation.latencyMs < 30_000);
  t.true(server.received.length > 1 && server.received.length <= 3);
});

test('a retry makes up for a lost packet', async (t) => {
  const server = await startDnsServer(t, { 'A name.example': { isSilent: true } });
  const checked = verdictOf(dnsTarget(`dns://${server.address}/name.example`, ['A']));
  await until(() => server.received.length > 0);
  server.zone.set('A name.example', { answers: [a('192.0.2.1')] });
  t.is((await checked).verdict, 'up');
});

test('a response to the first query counts even after a retry, which gets none', async (t) => {
  const server = await startDnsServer(t);
  const check = async () => {
    server.received.splice(0);
    server.zone.set('A name.example', { answers: [a('192.0.2.1')], delayMs: 1_500 });
    const checked = probe(dnsTarget(`dns://${server.address}/name.example`, ['A'], { timeoutMs: 8_000 }));
    await until(() => server.received.length > 0);
    server.zone.set('A name.example', { isSilent: true });
    return await checked;
  };
  // A query has ten seconds: a busy machine may miss them once, but not every time.
  const observation = await until(async () => {
    const checked = await check();
    return checked.outcome === 'queried' && checked.answers.A?.outcome === 'records' && checked;
  });
  t.deepEqual(answersOf(observation), { A: { outcome: 'records', records: ['192.0.2.1'] } });
  t.true(observation.latencyMs >= 1_495);
  await until(() => server.received.length > 1);
});

test('a server that was always fast still gets the full timeout when it is slow once', async (t) => {
  const quick = { answers: [a('192.0.2.1')] };
  const server = await startDnsServer(t, { 'A name.example': quick });
  const opened = openDnsProbe({ allowPrivateNetwork: true, dnsResolvers: [] });
  t.teardown(opened.close);
  const target = dnsTarget(`dns://${server.address}/name.example`, ['A']);
  for (let check = 0; check < 8; check += 1) await opened.probe(target);
  server.zone.set('A name.example', { ...quick, delayMs: 1_500 });
  const slow = await opened.probe(target);
  t.deepEqual(answersOf(slow), { A: { outcome: 'records', records: ['192.0.2.1'] } });
  t.true(slow.latencyMs >= 1_495, String(slow.latencyMs));
});

test('a server that is not running is down', async (t) => {
  // Other tests get no such port: it is no temporary one.
  t.like(await verdictOf(dnsTarget('dns://127.0.0.1:9/name.example')), {
    verdict: 'down',
    cause: 'dns_error',
    reason: 'The server "127.0.0.1" could not be reached',
  });
});

test('a server may be given by name or by IPv6 address', async (t) => {
  const server = await startNameServer(t);
  const [, port] = server.address.split(':');
  t.is((await verdictOf(dnsTarget(`dns://localhost:${port}/name.example`))).verdict, 'up');
  const server6 = await startNameServer(t, '192.0.2.1', '::1');
  t.is((await verdictOf(dnsTarget(`dns://${server6.address}/name.example`))).verdict, 'up');
});

test('the guard blocks a private server, by address and by name, and sends it no query', async (t) => {
  const server = await startNameServer(t);
  const guarded = openDnsProbe({ allowPrivateNetwork: false, dnsResolvers: [] });
  t.teardown(guarded.close);
  const [, port] = server.address.split(':');
  for (const host of ['127.0.0.1', 'localhost']) {
    t.like(await verdictOf(dnsTarget(`dns://${host}:${port}/name.example`), guarded.probe), {
      verdict: 'none',
      cause: 'blocked_target',
    });
  }
  t.deepEqual(server.received, []);
});

/** Opens a probe whose system resolvers are these servers, behind the guard as on a shared agent. */
function openWithOwn(t: ExecutionContext, ...servers: string[]) {
  const opened = openDnsProbe(
    { allowPrivateNetwork: false, dnsResolvers: [] },
    () => servers,
    () => ['office.example'],
  );
  t.teardown(opened.close);
  return opened.probe;
}

test("with the guard on, names of private networks are not sent to the system's resolvers", async (t) => {
  const server = await startNameServer(t);
  const guarded = openWithOwn(t, server.address);
  const names = [
    'postgres.default.svc.cluster.local',
    'POSTGRES.default.svc.cluster.LOCAL.',
    'postgres.default.svc.cluster\u3002\uFF4Cocal',
    'metadata.google.internal',
    'router.home.arpa',
    'nas.lan',
    'postgres',
    'db.office.example',
    'office.example.',
    '10.96.0.17',
    '17.0.96.10.in-addr.arpa.',
    '10.in-addr.arpa',
    'x.1.0.0.127.in-addr.arpa',
    'fd00::1',
    'D.F.ip6.arpa',
    '::ffff:10.0.0.1',
  ];
  for (const name of names)
    t.like(await verdictOf(dnsTarget(name, ['PTR', 'A']), guarded), { verdict: 'none', cause: 'blocked_target' }, name);
  t.deepEqual(server.received, []);

  const others = ['name.example', 'my-office.example', '93.184.216.34', '2a00:1450:4001:81b::200e', 'a.local.example'];
  for (const name of others) await guarded(dnsTarget(name));
  t.deepEqual(new Set(server.received.map(({ name }) => name)).size, others.length);
});

test("with the guard on, private addresses from the system's resolvers are neither shown nor confirmed", async (t) => {
  const server = await startDnsServer(t, {
    'A name.example': { answers: [a('10.96.0.17'), a('10.96.0.18'), a('93.184.216.34')] },
    'AAAA name.example': { answers: [{ type: 'AAAA', name: 'name.example', data: 'fd00::1' }] },
  });
  const expecting = (target: string, expected: string[]) => ({
    ...dnsTarget(target),
    checkSpec: { dns: { records: [{ type: 'A', mode: 'contains', expected } satisfies DnsRecordSpec] } },
  });
  const guarded = openWithOwn(t, server.address);
  const observation = await guarded(dnsTarget('name.example', ['A', 'AAAA']));
  t.deepEqual(answersOf(observation), {
    A: { outcome: 'records', records: ['93.184.216.34', 'a private address'] },
    AAAA: { outcome: 'records', records: ['a private address'] },
  });
  const guesses = ['10.96.0.17', '10.96.0.19'];
  const reasons = await Promise.all(guesses.map((guess) => verdictOf(expecting('name.example', [guess]), guarded)));
  t.deepEqual(
    reasons.map(({ cause, reason }) => [cause, reason]),
    guesses.map((guess) => [
      'dns_mismatch',
      `A: expected at least "${guess}", got "93.184.216.34", "a private address"`,
    ]),
  );
  t.is((await verdictOf(expecting('name.example', ['93.184.216.34']), guarded)).verdict, 'up');

  // A resolver that the target names is queried directly, and so are all where private networks are allowed.
  t.is((await verdictOf(expecting(`dns://${server.address}/name.example`, ['10.96.0.17']))).verdict, 'up');
  const open = openDnsProbe({ allowPrivateNetwork: true, dnsResolvers: [] }, () => [server.address]);
  t.teardown(open.close);
  t.is((await verdictOf(expecting('name.example', ['10.96.0.17']), open.probe)).verdict, 'up');
  await verdictOf(dnsTarget('db.local'), open.probe);
  t.is(server.received.at(-1)?.name, 'db.local');
});

test('a cross check of a named server queries no private names and shows no private addresses', async (t) => {
  const zone = {
    'A name.example': { answers: [a('10.96.0.17'), a('93.184.216.34')] },
    'A db.local': { answers: [a('10.96.0.18', 'db.local')] },
    'A db.office.example': { answers: [a('10.96.0.19', 'db.office.example')] },
  };
  const panel = await Promise.all([startDnsServer(t, zone), startDnsServer(t, zone)]);
  const opened = openDnsProbe(
    { allowPrivateNetwork: false, dnsResolvers: panel.map(({ address }) => address) },
    () => [],
    () => ['office.example'],
  );
  t.teardown(opened.close);
  // A resolver with a public address, where no server responds.
  const opinionsOn = async (name: string) => {
    const record: DnsRecordSpec = { type: 'A', mode: 'contains', expected: ['10.96.0.17'] };
    const target = crossChecked(`dns://192.52.193.1:9/${name}`, record, 4_000);
    const observation = await opened.probe(target);
    return observation.outcome === 'queried' && observation.opinions.map(({ answers }) => answers);
  };
  const answers = { A: { outcome: 'records', records: ['93.184.216.34', 'a private address'] } };
  const hidden = ['db.local', 'DB.office.example.'].map(opinionsOn);
  t.deepEqual(await withoutStall(() => opinionsOn('name.example')), [answers, answers]);
  t.deepEqual(await Promise.all(hidden), [[], []]);
  t.deepEqual(new Set(panel.flatMap(({ received }) => received.map(({ name }) => name))), new Set(['name.example']));
});

test('private addresses from a named server are not compared with hidden ones', (t) => {
  const judged = (own: string, others: string) => {
    const answersWith = (address: string) => ({ A: { outcome: 'records', records: [address] } }) as const;
    const observation: DnsObservation = {
      type: 'dns',
      outcome: 'queried',
      startedAt: 0,
      latencyMs: 1,
      server: '9.9.9.9',
      answers: answersWith(own),
      opinions: ['8.8.8.8', '1.1.1.1'].map((resolver) => ({ resolver, answers: answersWith(others) })),
      ownResolversWork: null,
    };
    const record: DnsRecordSpec = { type: 'A', mode: 'equals', expected: [own] };
    return judgeDns({ target: crossChecked('name.example', record), observation: hideInObservation(observation) });
  };
  t.is(judged('10.0.0.1', '10.0.0.1').verdict, 'up');
  t.is(judged('10.0.0.1', '10.0.0.2').verdict, 'up');
  t.is(judged('10.0.0.1', '93.184.216.34').cause, 'dns_disagree');
  const disagreeing = judged('93.184.216.34', '10.0.0.1');
  t.is(disagreeing.cause, 'dns_disagree');
  t.regex(disagreeing.reason ?? '', /a private address/);
  t.notRegex(disagreeing.reason ?? '', /10\.0/);
});

const ROOT: Answer = { type: 'NS', name: '.', data: 'a.root.example' };

test("a name is queried at the system's resolvers, which the guard does not block", async (t) => {
  const server = await startNameServer(t);
  t.is((await verdictOf(dnsTarget('name.example'), openWithOwn(t, server.address))).verdict, 'up');
});

test("when one of the system's resolvers fails, the next one is queried", async (t) => {
  const broken = await startDnsServer(t, { 'A name.example': { rcode: RCODES.SERVFAIL } });
  const server = await startNameServer(t);
  t.is(
    (await verdictOf(dnsTarget('name.example', ['A']), openWithOwn(t, broken.address, server.address))).verdict,
    'up',
  );
  t.deepEqual(distinctQueries(server), ['udp A name.example']);
});

test('of eight failing servers five are queried', async (t) => {
  const servers = await Promise.all(
    Array.from({ length: 8 }, () => startDnsServer(t, { 'A name.example': { rcode: RCODES.REFUSED } })),
  );
  const addresses = servers.map(({ address }) => address);
  const countQueried = async () => {
    for (const { received } of servers) received.splice(0);
    const observation = await openWithOwn(t, ...addresses)(dnsTarget('name.example', ['A']));
    t.deepEqual(answersOf(observation), { A: { outcome: 'failed', failure: 'refused' } });
    return servers.filter(({ received }) => received.length > 0).length;
  };
  t.is(await withoutStall(countQueried), 5);
});

for (const [what, reply, cause] of [
  ['gets SERVFAIL', { rcode: RCODES.SERVFAIL }, 'dns_error'],
  ['gets no response', { isSilent: true }, 'timeout'],
] as const) {
  test.serial(`a name that ${what} at working resolvers is down`, async (t) => {
    const server = await startDnsServer(t, { 'A name.example': reply, 'NS .': { answers: [ROOT] } });
    const target = dnsTarget('name.example', ['A'], { timeoutMs: 4_000 });
    const judged = () => verdictOf(target, openWithOwn(t, server.address));
    t.like(await withoutStall(judged, cause === 'timeout' ? target.timeoutMs : 0), { verdict: 'down', cause });
  });

  test.serial(`a name that ${what} at broken resolvers is no vote`, async (t) => {
    const server = await startDnsServer(t, { 'A name.example': reply, 'NS .': reply });
    const target = dnsTarget('name.example', ['A'], { timeoutMs: 4_000 });
    t.like(await verdictOf(target, openWithOwn(t, server.address)), { verdict: 'none', cause });
  });
}

test.serial('checks that fail together test the resolvers only once', async (t) => {
  const server = await startDnsServer(t, { 'A name.example': { rcode: RCODES.SERVFAIL }, 'NS .': { answers: [ROOT] } });
  const countTests = async () => {
    server.received.splice(0);
    const probeOf = openWithOwn(t, server.address);
    await Promise.all(Array.from({ length: 20 }, () => probeOf(dnsTarget('name.example', ['A']))));
    return server.received.filter(({ type }) => type === 'NS').length;
  };
  t.is(await withoutStall(countTests), 1);
});

/** Returns the result of a run without a stall, after which queries are repeated or too late. */
async function withoutStall<Result>(run: () => Promise<Result>, timeoutMs = 0): Promise<Result> {
  const { result } = await until(async () => {
    const startedAtMs = performance.now();
    const ran = { result: await run() };
    return performance.now() - startedAtMs < timeoutMs + 500 && ran;
  });
  return result;
}

/** Opens a probe with one cross-check resolver for each given address, which is its answer. */
async function openWithPanel(t: ExecutionContext, addresses: readonly string[]) {
  const servers = await Promise.all(addresses.map((address) => startNameServer(t, address)));
  const opened = openDnsProbe({ allowPrivateNetwork: true, dnsResolvers: servers.map(({ address }) => address) });
  t.teardown(opened.close);
  return { probeOf: opened.probe, servers };
}

function crossChecked(target: string, record: DnsRecordSpec, timeoutMs = 60_000): CheckTarget {
  return { ...dnsTarget(target), timeoutMs, checkSpec: { dns: { records: [record], crossCheck: true } } };
}

const EXPECTS_1: DnsRecordSpec = { type: 'A', mode: 'equals', expected: ['192.0.2.1'] };

test('a cross check queries the other resolvers and reports which one disagrees', async (t) => {
  const server = await startNameServer(t);
  const { probeOf, servers } = await openWithPanel(t, ['192.0.2.1', '192.0.2.9', '192.0.2.1']);
  const judgement = await verdictOf(crossChecked(`dns://${server.address}/name.example`, EXPECTS_1), probeOf);
  t.like(judgement, { verdict: 'degraded', cause: 'dns_disagree' });
  t.regex(
    judgement.reason ?? '',
    new RegExp(`${servers[1]?.address}: A: expected exactly "192.0.2.1", got "192.0.2.9"`),
  );
  servers[1]?.zone.set('A name.example', { answers: [a('192.0.2.1')] });
  t.is((await verdictOf(crossChecked(`dns://${server.address}/name.example`, EXPECTS_1), probeOf)).verdict, 'up');
});

test('unreadable search domains keep their previous values, and a missing file means none', async (t) => {
  const path = join(await temporaryFolder(t), 'resolv.conf');
  const searchDomains = createSearchDomains(path, -1);
  await writeFile(path, 'nameserver 192.0.2.1\nsearch corp.example . lab.example\n');
  t.deepEqual(searchDomains(), ['corp.example', 'lab.example']);
  await rm(path);
  await mkdir(path);
  t.deepEqual(searchDomains(), ['corp.example', 'lab.example']);
  await rm(path, { recursive: true });
  t.deepEqual(searchDomains(), []);
});

test.serial('a guarded check needs no thread of the pool, which hanging lookups can fill up', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-dns-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const server = await startNameServer(t);
  const opened = openDnsProbe({ allowPrivateNetwork: false, dnsResolvers: [] }, () => [server.address]);
  t.teardown(opened.close);
  // Opening a pipe for reading blocks until it is opened for writing.
  const held = Array.from({ length: Number(process.env['UV_THREADPOOL_SIZE'] ?? 4) }, () => openFile(pipe));
  let writer: number | null = null;
  const release = setTimeout(() => {
    writer = openSync(pipe, 'r+');
  }, 60_000);
  const { outcome } = await opened.probe(dnsTarget('name.example', ['A'], { timeoutMs: 50_000 }));
  clearTimeout(release);
  const hasWaited = writer !== null;
  writer ??= openSync(pipe, 'r+');
  for (const handle of await Promise.all(held)) await handle.close();
  closeSync(writer);
  t.is(outcome, 'queried');
  t.false(hasWaited);
});

test('without a cross check the other resolvers are not queried', async (t) => {
  const server = await startNameServer(t);
  const { probeOf, servers } = await openWithPanel(t, ['192.0.2.1', '192.0.2.9', '192.0.2.1']);
  t.is((await verdictOf(dnsTarget(`dns://${server.address}/name.example`, ['A']), probeOf)).verdict, 'up');
  t.deepEqual(
    servers.flatMap(({ received }) => received),
    [],
  );
});

test('silent cross-check resolvers affect neither the verdict nor the latency', async (t) => {
  const server = await startNameServer(t);
  const { probeOf, servers } = await openWithPanel(t, ['192.0.2.9', '192.0.2.9', '192.0.2.9']);
  for (const { zone } of servers.slice(1)) zone.set('A name.example', { isSilent: true });
  const target = crossChecked(`dns://${server.address}/name.example`, EXPECTS_1);
  const startedMs = performance.now();
  const observation = await probeOf(target);
  const tookMs = performance.now() - startedMs;
  t.is(judgeDns({ target, observation }).verdict, 'up');
  // The silent ones are queried three times, for several seconds.
  t.true(observation.latencyMs < tookMs - 3_000, `${observation.latencyMs} of ${tookMs} ms`);
});
