import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import type { DomainFacts } from '../../core/checks/domain/facts.ts';
import { judgeDomain } from '../../core/checks/domain/observation.ts';
import { storeBootstrap } from '../../models/checks/lookups.ts';
import { closeDatabase, type Database } from '../../models/database.ts';
import { currentAccount, holdingBodies } from '../../net/body-budget.ts';
import { createDomainProbe, LOOKUP_MS, openKnownDomains, type KnowDomain } from '../../probes/domain.ts';
import { domainStoreOf } from '../../workers/checks/registries.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../helpers/database.ts';
import {
  rdapDomain,
  startRdapServer,
  startWhoisServer,
  type RdapTestServer,
  type WhoisTestServer,
} from '../helpers/registry.ts';
import { until } from '../helpers/until.ts';

const START_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const EXPIRY = '2031-08-13T04:00:00Z';
const EXPIRY_SECONDS = Date.parse(EXPIRY) / 1000;
/** Maximum duration of a lookup, longer than any stall of the machine, and how long its caller waits. */
const LONG_LOOKUP_MS = 60_000;
const PATIENCE_MS = 120_000;
/** Maximum duration of a lookup that waits for a server to its end. */
const SHORT_LOOKUP_MS = 20_000;

/**
 * `com` and `io` are top-level domains unique to this fixture: the first has RDAP, the second only the root's WHOIS
 * server.
 */
type Fixture = {
  com: string;
  io: string;
  rdap: RdapTestServer;
  whois: WhoisTestServer;
  open: (given?: { aheadMs?: number; allowPrivateNetwork?: boolean; lookupMs?: number }) => KnowDomain;
};

let testDatabase: TestDatabase;
let database: Database;
let fixtures = 0;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl);
  await storeBootstrap(database, { services: {}, etag: null, lastModified: null, checkedAtMs: Date.now() });
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

async function openFixture(
  t: ExecutionContext,
  given: { rdap?: RequestListener; whois?: (query: string) => string | Buffer | null } = {},
): Promise<Fixture> {
  fixtures += 1;
  const [com, io] = [`com${fixtures}`, `io${fixtures}`];
  const rdap = await startRdapServer(t, given.rdap ?? answerAll);
  const whois = await startWhoisServer(t, given.whois ?? (() => ''));
  await database.pool.query('UPDATE rdap_bootstrap SET services = services || $1', [{ [com]: rdap.base }]);
  return {
    com,
    io,
    rdap,
    whois,
    open: ({ aheadMs = 0, allowPrivateNetwork = true, lookupMs = LONG_LOOKUP_MS } = {}) =>
      openKnownDomains({
        allowPrivateNetwork,
        lookupMs,
        whoisServer: whois,
        domains: domainStoreOf(database),
        now: () => Date.now() + aheadMs,
      }).know,
  };
}

const nameIn = (url: string | undefined): string => url?.split('/').at(-1) ?? '';
const answerAll: RequestListener = (request, response) => void response.end(rdapDomain(nameIn(request.url), EXPIRY));

const judge = (facts: Awaited<ReturnType<KnowDomain>>['facts'], aheadMs = 0) =>
  judgeDomain({
    target: { checkSpec: { domain: { warnDays: 30 } } },
    observation: { type: 'domain', startedAt: Date.now() + aheadMs, latencyMs: null, facts },
  });

test('a domain is looked up by RDAP once a day, across processes and restarts', async (t) => {
  const { com, rdap, open } = await openFixture(t);
  const probe = createDomainProbe(open());
  const target = httpTarget({ type: 'domain', target: `www.Example.${com}.` });
  const first = await probe(target);
  t.like(first.facts, {
    name: `example.${com}`,
    registration: { expiresAt: EXPIRY_SECONDS, registrar: 'Example Registrar Inc.' },
  });
  t.true(first.latencyMs !== null && first.latencyMs >= 0);
  t.like(await probe(target), { latencyMs: null, facts: { name: `example.${com}` } });
  t.like(await createDomainProbe(open())(target), { latencyMs: null });
  t.deepEqual(rdap.requests, [`/rdap/domain/example.${com}`]);

  t.not((await open({ aheadMs: 24 * HOUR_MS + 1000 })(`example.${com}`, PATIENCE_MS)).lookupMs, null);
  t.is(rdap.requests.length, 2);
});

test('a hundred concurrent lookups in two processes make one request', async (t) => {
  const { com, rdap, open } = await openFixture(t);
  const processes = [open(), open()];
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => processes[index % 2]?.(`example.${com}`, PATIENCE_MS)),
  );
  t.deepEqual(new Set(answers.map((answer) => answer?.facts.registration?.expiresAt)), new Set([EXPIRY_SECONDS]));
  t.is(rdap.requests.length, 1);
});

test('a registry gets one request at a time, with a pause of a second after each', async (t) => {
  const began: number[] = [];
  let underWay = 0;
  let most = 0;
  const { com, open } = await openFixture(t, {
    rdap(request, response) {
      began.push(performance.now());
      underWay += 1;
      most = Math.max(most, underWay);
      response.once('finish', () => {
        underWay -= 1;
      });
      response.end(rdapDomain(nameIn(request.url), EXPIRY));
    },
  });
  const processes = [open(), open()];
  // On a busy machine a lookup may time out in the registry queue, so it is repeated.
  await Promise.all(
    [`one.${com}`, `two.${com}`, `three.${com}`].map((name, index) =>
      until(async () => (await processes[index % 2]?.(name, PATIENCE_MS))?.facts.registration),
    ),
  );
  t.is(most, 1);
  const pauses = began.slice(1).map((atMs, index) => atMs - (began[index] ?? 0));
  t.true(pauses.length >= 2 && pauses.every((pause) => pause >= 990), `pauses of ${pauses.join(', ')} ms`);
});

/**
 * Looks up names in one process, for accounts. Counts its polls for a turn, and the requests at the registry until each
 * account's first lookup was about to wait for a turn.
 */
function openForAccounts({ rdap, whois }: Pick<Fixture, 'rdap' | 'whois'>) {
  const asked = { polls: 0, before: new Map<string | undefined, number>() };
  const store = domainStoreOf(database);
  const { know } = openKnownDomains({
    allowPrivateNetwork: true,
    lookupMs: LONG_LOOKUP_MS,
    whoisServer: whois,
    domains: {
      ...store,
      async read(name) {
        const facts = await store.read(name);
        // A lookup that runs already is joined now.
        if (!asked.before.has(currentAccount())) asked.before.set(currentAccount(), rdap.requests.length);
        return facts;
      },
      async findRdapService(tld) {
        const service = await store.findRdapService(tld);
        // The queue is next.
        asked.before.set(currentAccount(), rdap.requests.length);
        return service;
      },
      acquireRegistry(server, when) {
        asked.polls += 1;
        return store.acquireRegistry(server, when);
      },
    },
    now: Date.now,
  });
  return {
    asked,
    knowFor: (account: string, name: string) => holdingBodies(account, () => know(name, PATIENCE_MS)),
  };
}

test('two hundred names of one account do not hold up another account at their registry', async (t) => {
  const { com, ...servers } = await openFixture(t);
  const { rdap } = servers;
  const { asked, knowFor } = openForAccounts(servers);
  const many = Array.from({ length: 200 }, (_, index) => knowFor('ten_many', `many${index}.${com}`));
  await until(() => rdap.requests.length);
  const one = await knowFor('ten_one', `one.${com}`);
  t.is(one.facts.registration?.expiresAt, EXPIRY_SECONDS);
  const answers = await Promise.all(many);
  const turns = rdap.requests.map((url) => nameIn(url));
  const before = asked.before.get('ten_one') ?? 0;
  t.true(turns.indexOf(`one.${com}`) <= before + 1, turns.join(', '));
  t.true(answers.filter(({ facts }) => facts.registration !== null).length >= 2);
  t.true(asked.polls <= 60, `${asked.polls} polls`);
});

test('a name that waits behind others of its account moves up when another account requests it', async (t) => {
  const { com, ...servers } = await openFixture(t);
  const { rdap } = servers;
  const { asked, knowFor } = openForAccounts(servers);
  const many = Array.from({ length: 8 }, (_, index) => knowFor('ten_many', `many${index}.${com}`));
  await until(() => rdap.requests.length);
  t.is((await knowFor('ten_one', `many7.${com}`)).facts.registration?.expiresAt, EXPIRY_SECONDS);
  await Promise.all(many);
  const turns = rdap.requests.map((url) => nameIn(url));
  const before = asked.before.get('ten_one') ?? 0;
  t.true(turns.indexOf(`many7.${com}`) <= before + 1, turns.join(', '));
});

test('a crowded-out lookup is retried after 5, 20 and 80 s, but by another account immediately', async (t) => {
  const clock = { ms: START_MS };
  const facts = new Map<string, DomainFacts>();
  const claims: string[] = [];
  const { know } = openKnownDomains({
    allowPrivateNetwork: true,
    whoisServer: { host: '127.0.0.1', port: 9 },
    domains: {
      read: async (name) => facts.get(name) ?? null,
      claim: async (name) => claims.push(name) > 0,
      write: async (learned) => void facts.set(learned.name, learned),
      findRdapService: async () => null,
      // Other processes hold every turn.
      acquireRegistry: async (_server, { nowMs }) => nowMs,
      releaseRegistry: async () => undefined,
    },
    now: () => clock.ms,
  });
  const knowFor = (account: string, name: string) => holdingBodies(account, () => know(name, PATIENCE_MS));
  const countClaims = () => claims.filter((name) => name === 'next.example').length;
  const fill = () =>
    Promise.all(Array.from({ length: 8 }, (_, no) => knowFor('ten_many', `${clock.ms}-${no}.example`)));
  const filled = [];
  const counts: number[] = [];
  for (const seconds of [0, 2, 4.9, 5, 24.9, 25, 104.9, 105]) {
    clock.ms = START_MS + seconds * 1000;
    filled.push(fill());
    const { facts: known } = await knowFor('ten_many', 'next.example');
    t.regex(known.failure ?? '', /had no turn in time/);
    counts.push(countClaims());
  }
  t.deepEqual(counts, [1, 1, 1, 2, 2, 3, 3, 4]);
  clock.ms += 1000;
  filled.push(knowFor('ten_one', 'next.example'));
  await until(() => countClaims() === 5);
  await Promise.all(filled);
  // The last wait does not outlast a clock that is set back to before it began.
  clock.ms = START_MS - 1000;
  facts.clear();
  const again = fill();
  await knowFor('ten_many', 'next.example');
  t.is(countClaims(), 6);
  await again;
});

test('an unknown top-level domain costs the root one query for all of its names', async (t) => {
  const { io, open, whois } = await openFixture(t, {
    whois: () => '% IANA WHOIS server\r\n% This query returned 0 objects.\r\n',
  });
  const know = open();
  const names = Array.from({ length: 5 }, (_, index) => `made-up${index}.${io}`);
  const answers = await Promise.all(names.map((name) => know(name, PATIENCE_MS)));
  for (const { facts } of [...answers, await know(`late.${io}`, PATIENCE_MS)])
    t.is(facts.failure, `No registry is known for .${io}`);
  t.is(whois.queries.length, 1);
});

test('an unknown top-level domain is queried again after the clock was set back', async (t) => {
  const { io, whois } = await openFixture(t, {
    whois: () => '% IANA WHOIS server\r\n% This query returned 0 objects.\r\n',
  });
  const clock = { ms: START_MS + 24 * HOUR_MS };
  const { know } = openKnownDomains({
    allowPrivateNetwork: true,
    whoisServer: whois,
    domains: {
      read: async () => null,
      claim: async () => true,
      write: async () => undefined,
      findRdapService: async () => null,
      acquireRegistry: async () => null,
      releaseRegistry: async () => undefined,
    },
    now: () => clock.ms,
  });
  for (const [no, aheadMs, queries] of [
    [1, 24 * HOUR_MS, 1],
    [2, 24 * HOUR_MS + 1, 1],
    [3, 0, 2],
    [4, 1, 2],
  ] as const) {
    clock.ms = START_MS + aheadMs;
    t.is((await know(`made-up${no}.${io}`, PATIENCE_MS)).facts.failure, `No registry is known for .${io}`);
    t.is(whois.queries.length, queries);
  }
});

test('one name that the configured WHOIS server does not understand does not affect others', async (t) => {
  const { io, open, whois } = await openFixture(t, {
    whois: (query) => (query.startsWith('odd') ? 'Invalid query\r\n' : `domain: ${query}\r\nexpires: ${EXPIRY}\r\n`),
  });
  const know = open();
  t.regex((await know(`odd.${io}`, PATIENCE_MS)).facts.failure ?? '', /No registry is known/);
  t.is((await know(`even.${io}`, PATIENCE_MS)).facts.registration?.expiresAt, EXPIRY_SECONDS);
  t.is(whois.queries.length, 2);
});

test('a lookup continues after its check gave up, and the next check has its outcome', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { com, rdap, whois } = await openFixture(t, {
    rdap: (request, response) => void released.then(() => response.end(rdapDomain(nameIn(request.url), EXPIRY))),
  });
  const domains = openKnownDomains({
    allowPrivateNetwork: true,
    lookupMs: LONG_LOOKUP_MS,
    whoisServer: whois,
    domains: domainStoreOf(database),
    now: Date.now,
  });
  const early = await domains.know(`slow.${com}`, 100);
  t.like(early, { lookupMs: null, facts: { answeredAtMs: null } });
  t.deepEqual(judge(early.facts), {
    verdict: 'none',
    cause: 'domain_unknown',
    reason: `There is no data about slow.${com} yet`,
  });
  release();
  await domains.close();
  t.like(await domains.know(`slow.${com}`, 100), {
    lookupMs: null,
    facts: { registration: { expiresAt: EXPIRY_SECONDS } },
  });
  t.is(rdap.requests.length, 1);
});

test('a lookup that finds its registry busy is retried soon, without counting as failed', async (t) => {
  const { com, rdap, open } = await openFixture(t, {
    rdap: (request, response) =>
      void (nameIn(request.url).startsWith('stuck') || response.end(rdapDomain(nameIn(request.url), EXPIRY))),
  });
  const know = open({ lookupMs: LOOKUP_MS });
  const [, waiting] = await Promise.all([
    know(`stuck.${com}`, PATIENCE_MS),
    until(() => rdap.requests[0]).then(() => open()(`other.${com}`, 100)),
  ]);
  t.is(waiting.facts.answeredAtMs, null);
  const { facts } = await until(async () => {
    const known = await know(`other.${com}`, PATIENCE_MS);
    return known.facts.registration !== null && known;
  });
  t.like(facts, { failures: 0, registration: { expiresAt: EXPIRY_SECONDS } });
});

test("a registry's Retry-After is respected for all of its domains, even after a restart", async (t) => {
  const { com, rdap, whois, open } = await openFixture(t, {
    rdap: (_, response) => void response.writeHead(429, { 'Retry-After': '7200' }).end(),
  });
  const beforeMs = Date.now();
  const { facts } = await open()(`one.${com}`, PATIENCE_MS);
  const afterMs = Date.now();
  t.like(facts, {
    registration: null,
    failure: "The registry's RDAP service limits how often it can be queried (HTTP 429)",
  });
  const askedAtMs = facts.nextLookupAtMs - 2 * HOUR_MS;
  t.true(askedAtMs >= beforeMs && askedAtMs <= afterMs);
  t.true(
    judge(facts).reason?.startsWith(
      `There is no data about one.${com} yet: The registry's RDAP service limits how often it can be queried`,
    ),
  );

  await open({ aheadMs: HOUR_MS })(`two.${com}`, PATIENCE_MS);
  t.is(rdap.requests.length, 1);
  t.deepEqual(whois.queries, []);
  await open({ aheadMs: 3 * HOUR_MS })(`two.${com}`, PATIENCE_MS);
  t.is(rdap.requests.length, 2);
});

test('a domain that is not found is down only after a second lookup an hour later', async (t) => {
  const { com, rdap, open } = await openFixture(t, {
    rdap: (_, response) =>
      void response.writeHead(404, { 'Content-Type': 'application/rdap+json' }).end('{"errorCode":404}'),
  });
  const first = await open()(`gone.${com}`, PATIENCE_MS);
  t.like(judge(first.facts), { verdict: 'none', cause: 'domain_unknown' });
  const soon = await open({ aheadMs: HOUR_MS - 60_000 })(`gone.${com}`, PATIENCE_MS);
  t.like(judge(soon.facts, HOUR_MS), { verdict: 'none' });
  t.is(rdap.requests.length, 1);
  const second = await open({ aheadMs: HOUR_MS + 60_000 })(`gone.${com}`, PATIENCE_MS);
  t.deepEqual(judge(second.facts, HOUR_MS + 60_000), {
    verdict: 'down',
    cause: 'domain_expired',
    reason: `gone.${com} is not registered`,
  });
});

test('a registered domain that is not found once keeps its verdict', async (t) => {
  let isThere = true;
  const { com, open } = await openFixture(t, {
    rdap: (_, response) =>
      void (isThere ? response.end(rdapDomain(`here.${com}`, EXPIRY)) : response.writeHead(404).end()),
  });
  await open()(`here.${com}`, PATIENCE_MS);
  isThere = false;
  const aheadMs = 25 * HOUR_MS;
  const { facts } = await open({ aheadMs })(`here.${com}`, PATIENCE_MS);
  t.true(facts.notFoundSinceMs !== null);
  t.like(judge(facts, aheadMs), { verdict: 'up' });
  isThere = true;
  t.is((await open({ aheadMs: aheadMs + 2 * HOUR_MS })(`here.${com}`, PATIENCE_MS)).facts.notFoundSinceMs, null);
});

test('a failed lookup keeps the known facts for days, and is retried within an hour', async (t) => {
  let isWell = true;
  const { com, rdap, open } = await openFixture(t, {
    rdap: (_, response) =>
      void (isWell ? response.end(rdapDomain(`example.${com}`, EXPIRY)) : response.writeHead(500).end()),
  });
  await open()(`example.${com}`, PATIENCE_MS);
  isWell = false;
  const failed = await open({ aheadMs: 25 * HOUR_MS })(`example.${com}`, PATIENCE_MS);
  t.like(failed.facts, {
    failures: 1,
    failure: "The registry's RDAP service responded with HTTP 500",
    registration: { expiresAt: EXPIRY_SECONDS },
  });
  t.like(judge(failed.facts, 25 * HOUR_MS), { verdict: 'up' });
  await open({ aheadMs: 25 * HOUR_MS + 60_000 })(`example.${com}`, PATIENCE_MS);
  t.is(rdap.requests.length, 2);
  t.like((await open({ aheadMs: 26 * HOUR_MS })(`example.${com}`, PATIENCE_MS)).facts, { failures: 2 });
  t.like(judge(failed.facts, 9 * 24 * HOUR_MS), { verdict: 'none', cause: 'domain_unknown' });
});

test('a redirect to the registry is followed', async (t) => {
  const { com, open, rdap } = await openFixture(t, {
    rdap(request, response) {
      if (request.url?.startsWith('/rdap/')) response.writeHead(301, { Location: `/v2${request.url}` }).end();
      else answerAll(request, response);
    },
  });
  t.like((await open()(`moved.${com}`, PATIENCE_MS)).facts.registration, { expiresAt: EXPIRY_SECONDS });
  t.deepEqual(rdap.requests, [`/rdap/domain/moved.${com}`, `/v2/rdap/domain/moved.${com}`]);
});

test('more than three redirects fail the lookup', async (t) => {
  const redirectTo =
    (location: string): RequestListener =>
    (_, response) =>
      void response.writeHead(302, { Location: location }).end();
  // Each redirect leads to another server: one that was asked pauses for a second.
  const third = await startRdapServer(t, redirectTo('http://127.0.0.1:9/'));
  const second = await startRdapServer(t, redirectTo(third.base));
  const first = await startRdapServer(t, redirectTo(second.base));
  const { com, open, rdap } = await openFixture(t, { rdap: redirectTo(first.base) });
  t.is(
    (await open()(`loop.${com}`, PATIENCE_MS)).facts.failure,
    "The registry's RDAP service redirected more than 3 times",
  );
  t.deepEqual(
    [rdap, first, second, third].map(({ requests }) => requests.length),
    [1, 1, 1, 1],
  );
});

const BAD_RDAP: readonly [what: string, RequestListener][] = [
  ['responds with 500', (_, response) => void response.writeHead(500).end()],
  [
    'responds with an HTML page',
    (_, response) => void response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Not found</h1>'),
  ],
  ['sends invalid JSON', (_, response) => void response.end('hello')],
  ['sends another domain', (_, response) => void response.end(rdapDomain('another.com', EXPIRY))],
  ['sends too large a response', (_, response) => void response.end(`"${'x'.repeat(600_000)}"`)],
  ['never responds', () => undefined],
  ['closes the connection', (request) => void request.socket.destroy()],
];
for (const [what, rdap] of BAD_RDAP) {
  test(`WHOIS is the fallback if RDAP ${what}`, async (t) => {
    const { com, open, whois } = await openFixture(t, {
      rdap,
      whois: (query) => `Domain Name: ${query}\r\nRegistry Expiry Date: ${EXPIRY}\r\n`,
    });
    const know = open({ lookupMs: what === 'never responds' ? SHORT_LOOKUP_MS : LONG_LOOKUP_MS });
    t.like((await know(`example.${com}`, PATIENCE_MS)).facts.registration, { expiresAt: EXPIRY_SECONDS });
    t.deepEqual(whois.queries, [`example.${com}`]);
  });
}

test('WHOIS adds the expiry that RDAP lacks, and the expiry stays unknown if both lack it', async (t) => {
  const { com, open } = await openFixture(t, {
    rdap: (request, response) => void response.end(rdapDomain(nameIn(request.url), null)),
    whois: (query) =>
      query === `told.${com}` ? `domain: ${query}\r\nexpires: ${EXPIRY}\r\n` : `domain: ${query}\r\nstatus: active\r\n`,
  });
  const know = open();
  t.deepEqual((await know(`told.${com}`, PATIENCE_MS)).facts.registration, {
    expiresAt: EXPIRY_SECONDS,
    registrar: 'Example Registrar Inc.',
  });
  const { facts } = await know(`silent.${com}`, PATIENCE_MS);
  t.deepEqual(facts.registration, { expiresAt: null, registrar: 'Example Registrar Inc.' });
  t.deepEqual(judge(facts), { verdict: 'up', cause: null, reason: null });
});

test('the root is queried once per top-level domain, and the registrar only for a missing expiry', async (t) => {
  const registrar = await startWhoisServer(
    t,
    (query) =>
      `Domain Name: ${query.toUpperCase()}\nRegistrar Registration Expiration Date: ${EXPIRY}\nRegistrar: ` +
      `Example LLC\n`,
  );
  const registry = await startWhoisServer(t, (query) =>
    query.startsWith('thick')
      ? `domain: ${query}\nexpires: 2031-01-02\n`
      : `Domain Name: ${query}\nRegistrar WHOIS Server: 127.0.0.1:${registrar.port}\n`,
  );
  const { io, open, whois } = await openFixture(t, {
    whois: () => `% IANA WHOIS server\nrefer: 127.0.0.1:${registry.port}\n`,
  });
  const know = open();
  t.deepEqual((await know(`thin.${io}`, PATIENCE_MS)).facts.registration, {
    expiresAt: EXPIRY_SECONDS,
    registrar: 'Example LLC',
  });
  t.deepEqual((await know(`thick.${io}`, PATIENCE_MS)).facts.registration, {
    expiresAt: Date.parse('2031-01-02') / 1000,
    registrar: null,
  });
  t.deepEqual(
    [whois.queries, registry.queries, registrar.queries],
    [[`thin.${io}`], [`thin.${io}`, `thick.${io}`], [`thin.${io}`]],
  );
});

test('if the registrar does not respond only the expiry is missing', async (t) => {
  const registrar = await startWhoisServer(t, () => null);
  const registry = await startWhoisServer(
    t,
    (query) => `Domain Name: ${query}\nRegistrar WHOIS Server: 127.0.0.1:${registrar.port}\n`,
  );
  const { io, open } = await openFixture(t, { whois: () => `refer: 127.0.0.1:${registry.port}\n` });
  const know = open({ lookupMs: SHORT_LOOKUP_MS });
  t.deepEqual((await know(`example.${io}`, PATIENCE_MS)).facts.registration, { expiresAt: null, registrar: null });
  t.deepEqual(registrar.queries, [`example.${io}`]);
});

test('a registrar named like a property of all objects is looked up like any other', async (t) => {
  const registry = await startWhoisServer(t, (query) => `Domain Name: ${query}\nRegistrar WHOIS Server: __proto__\n`);
  const { io, open } = await openFixture(t, { whois: () => `refer: 127.0.0.1:${registry.port}\n` });
  const { facts } = await open()(`example.${io}`, PATIENCE_MS);
  t.deepEqual(facts.registration, { expiresAt: null, registrar: null });
});

test('an RDAP service that redirects to a host too long for a name has failed', async (t) => {
  const host = Array.from({ length: 100 }, () => randomBytes(30).toString('hex')).join('.');
  const { com, open } = await openFixture(t, {
    rdap: (_, response) => void response.writeHead(302, { Location: `https://${host}/` }).end(),
  });
  const { facts } = await open()(`example.${com}`, PATIENCE_MS);
  t.is(facts.failure, "The registry's RDAP service responded with HTTP 302");
});

const BAD_WHOIS: readonly [what: string, answer: string | Buffer | null, reason: RegExp][] = [
  ['sends nothing', '', /did not send a complete response/],
  ['never ends its response', null, /did not send a complete response/],
  ['sends an unrelated text', 'hello\r\n', /No registry is known for \.io\d/],
  [
    'does not know the top-level domain',
    '% IANA WHOIS server\r\n% This query returned 0 objects.\r\n',
    /No registry is known/,
  ],
  ['limits the rate of queries', 'Too many requests, try again later\r\n', /limits how often it can be queried/],
];
for (const [what, answer, reason] of BAD_WHOIS) {
  test(`a WHOIS server that ${what} is no vote`, async (t) => {
    const { io, open } = await openFixture(t, { whois: () => answer });
    const know = open({ lookupMs: answer === null ? SHORT_LOOKUP_MS : LONG_LOOKUP_MS });
    const { facts } = await know(`example.${io}`, PATIENCE_MS);
    t.regex(facts.failure ?? '', reason);
    t.like(judge(facts), { verdict: 'none', cause: 'domain_unknown' });
  });
}

test('a long WHOIS response in Latin-1 is read, and an internationalized name is queried in ASCII', async (t) => {
  const { io, open, whois } = await openFixture(t, {
    whois: (query) =>
      Buffer.concat([
        Buffer.from(`domain: ${query}\r\nregistrar: Société\r\nexpires: 2031-08-13\r\n`, 'latin1'),
        Buffer.alloc(300_000, 'x'),
      ]),
  });
  const probe = createDomainProbe(open());
  const { facts } = await probe(httpTarget({ type: 'domain', target: `www.bücher.${io}` }));
  t.like(facts, {
    name: `xn--bcher-kva.${io}`,
    registration: { expiresAt: Date.parse('2031-08-13') / 1000, registrar: 'Société' },
  });
  t.deepEqual(whois.queries, [`xn--bcher-kva.${io}`]);
});

test('the guard blocks private RDAP services, but not the WHOIS server that the operator configured', async (t) => {
  const { com, open, rdap, whois } = await openFixture(t, {
    whois: (query) => `domain: ${query}\r\nexpires: ${EXPIRY}\r\n`,
  });
  const { facts } = await open({ allowPrivateNetwork: false })(`example.${com}`, PATIENCE_MS);
  t.deepEqual(facts.registration, { expiresAt: EXPIRY_SECONDS, registrar: null });
  t.deepEqual([rdap.requests, whois.queries], [[], [`example.${com}`]]);
});

test('the guard blocks private servers that the configured WHOIS server refers to', async (t) => {
  const registry = await startWhoisServer(t, (query) => `domain: ${query}\nexpires: ${EXPIRY}\n`);
  const { io, open, whois } = await openFixture(t, { whois: () => `refer: 127.0.0.1:${registry.port}\n` });
  const { facts } = await open({ allowPrivateNetwork: false })(`example.${io}`, PATIENCE_MS);
  t.regex(facts.failure ?? '', /no public address/);
  t.deepEqual([whois.queries, registry.queries], [[`example.${io}`], []]);
});

test('the guard blocks a private registrar that the WHOIS server names, which costs only the expiry', async (t) => {
  const registrar = await startWhoisServer(t, () => `expires: ${EXPIRY}\n`);
  const { io, open } = await openFixture(t, {
    whois: (query) => `Domain Name: ${query}\nRegistrar WHOIS Server: 127.0.0.1:${registrar.port}\n`,
  });
  t.deepEqual((await open({ allowPrivateNetwork: false })(`example.${io}`, PATIENCE_MS)).facts.registration, {
    expiresAt: null,
    registrar: null,
  });
  t.deepEqual(registrar.queries, []);
});

test('a target without a registrable domain is no vote and queries no registry', async (t) => {
  const { open, whois } = await openFixture(t);
  const observation = await createDomainProbe(open())(httpTarget({ type: 'domain', target: 'co.uk' }));
  t.like(observation, { latencyMs: null, facts: null });
  t.like(judgeDomain({ target: { checkSpec: {} }, observation }), { verdict: 'none', cause: 'domain_unknown' });
  t.deepEqual(whois.queries, []);
});
