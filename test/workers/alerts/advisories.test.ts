import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { AdvisoryMessage } from '../../../core/checks/domain/advisory.ts';
import { unknownDomain } from '../../../core/checks/domain/facts.ts';
import type { Agent } from '../../../models/agents/agents.ts';
import { recordAdvisories } from '../../../models/alerts/advisories.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { storeCertificates } from '../../../models/checks/checks.ts';
import { storeDomain } from '../../../models/checks/lookups.ts';
import { pauseMonitor } from '../../../models/monitors/monitor-changes.ts';
import { inTransaction } from '../../../models/sql.ts';
import { pullBackTimes } from '../../../models/system/future-times.ts';
import { openKnownDomains, type KnowDomain } from '../../../probes/domain.ts';
import { adviseOfExpiries } from '../../../workers/alerts/advisories.ts';
import { domainStoreOf } from '../../../workers/checks/registries.ts';
import { startDeliver } from '../../../workers/processes/deliver.ts';
import { startMaintain } from '../../../workers/processes/maintain.ts';
import { startWhoisServer, type WhoisTestServer } from '../../helpers/registry.ts';
import { changeMonitor, openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { trustedReceiver } from '../../helpers/trusted-receiver.ts';
import { until } from '../../helpers/until.ts';

const DAY_MS = 86_400_000;
/** Noon, so that expiries in whole days fall between the daily rounds. */
const NOW_MS = Date.UTC(2026, 10, 21, 12);
const WARNED = { checkSpec: { domain: { warnDays: 30 } } };
const DOMAIN = { type: 'domain', target: 'shop.example', ...WARNED } as const;
const HTTPS = { type: 'http', target: 'https://www.shop.example/health', ...WARNED } as const;

type Office = {
  runtime: TestRuntime;
  whois: WhoisTestServer;
  round: (nowMs: number) => Promise<number>;
  said: () => Promise<AdvisoryMessage[]>;
};

/** Sets up a tenant with one channel, and a WHOIS root whose answers on shop.example the test sets. */
async function openOffice(t: ExecutionContext, whoisAnswer = (): string => 'nothing of use\n'): Promise<Office> {
  const runtime = await openTestRuntime(t);
  const whois = await startWhoisServer(t, whoisAnswer);
  await addChannel(runtime);
  const round = async (nowMs: number) => {
    const now = () => nowMs + Math.floor(performance.now() - startedAt);
    const startedAt = performance.now();
    const { know: knowDomain } = openKnownDomains({
      allowPrivateNetwork: true,
      whoisServer: whois,
      domains: domainStoreOf(runtime.database),
      now,
    });
    return (await adviseOfExpiries({ ...runtime, now }, knowDomain)).advisories;
  };
  const said = async () => {
    const { rows } = await runtime.database.pool.query<{ message: AdvisoryMessage }>(
      `SELECT message FROM deliveries WHERE event = 'advisory.domain_expiry' ORDER BY id`,
    );
    return rows.map(({ message }) => message);
  };
  return { runtime, whois, round, said };
}

async function addChannel(
  runtime: TestRuntime,
  given: { allMonitors?: boolean; monitorIds?: string[]; url?: string } = {},
): Promise<string> {
  const { url = 'https://receiver.example/hook', allMonitors = true, monitorIds = [] } = given;
  const id = runtime.newId('nch');
  const webhook = { url, signingSecret: `whsec_${'A'.repeat(44)}` };
  await createChannel(runtime.database, {
    id,
    tenantId: runtime.tenantId,
    type: 'webhook',
    name: 'Pager',
    status: 'connected',
    allMonitors,
    monitorIds,
    webhook,
    nowMs: NOW_MS,
    author: null,
  });
  return id;
}

/** Stores that the registry reported the domain's expiry just before `nowMs`. */
async function know(
  runtime: TestRuntime,
  { expiresAtMs, nowMs, name = 'shop.example' }: { expiresAtMs: number; nowMs: number; name?: string },
): Promise<void> {
  const registration = { expiresAt: Math.floor(expiresAtMs / 1000), registrar: null };
  await storeDomain(runtime.database, {
    name,
    registration,
    notFoundSinceMs: null,
    answeredAtMs: nowMs - 1000,
    failures: 0,
    failure: null,
    nextLookupAtMs: nowMs + DAY_MS,
  });
}

test('a domain expiry is warned of once per threshold, however often the chore runs', async (t) => {
  const { runtime, round, said } = await openOffice(t);
  const monitor = await runtime.addMonitor([], DOMAIN);
  const expiresAtMs = NOW_MS + 32 * DAY_MS;
  for (let day = 0; day <= 33; day += 1) {
    const nowMs = NOW_MS + day * DAY_MS + 60_000;
    await know(runtime, { expiresAtMs, nowMs });
    await round(nowMs);
    t.is(await round(nowMs + 3_600_000), 0);
  }
  const messages = await said();
  t.deepEqual(
    messages.map(({ detail }) => detail.days_remaining),
    [30, 14, 7, 3, 1],
  );
  t.like(messages[0], {
    event: 'advisory.domain_expiry',
    state: 'expiring',
    reason: 'The domain shop.example expires in 30 days, on 2026-12-23',
    monitor: { id: monitor.id, type: 'domain' },
  });
  t.like(messages[0]?.detail, {
    subject: 'domain',
    name: 'shop.example',
    expires_at: expiresAtMs / 1000,
    sources_down: [],
    incident_id: null,
  });
});

test('of several thresholds passed at once only the lowest causes a warning', async (t) => {
  const { runtime, round, said } = await openOffice(t);
  await runtime.addMonitor([], DOMAIN);
  await know(runtime, { expiresAtMs: NOW_MS + 5 * DAY_MS, nowMs: NOW_MS });
  t.is(await round(NOW_MS), 1);
  t.deepEqual(
    (await said()).map(({ detail }) => detail.days_remaining),
    [5],
  );
});

test('a renewal resets the warnings, but an expiry that moves by hours does not', async (t) => {
  const { runtime, round } = await openOffice(t);
  await runtime.addMonitor([], DOMAIN);
  await know(runtime, { expiresAtMs: NOW_MS + 5 * DAY_MS, nowMs: NOW_MS });
  t.is(await round(NOW_MS), 1);
  await know(runtime, { expiresAtMs: NOW_MS + 5 * DAY_MS + 43_200_000, nowMs: NOW_MS });
  t.is(await round(NOW_MS + 60_000), 0);
  await know(runtime, { expiresAtMs: NOW_MS + 25 * DAY_MS, nowMs: NOW_MS });
  t.is(await round(NOW_MS + 120_000), 1);
});

test('a longer warning period sends a warning not sent before, and a shorter one repeats none', async (t) => {
  const { runtime, round } = await openOffice(t);
  const { id, tenantId } = await runtime.addMonitor([], { ...DOMAIN, checkSpec: { domain: { warnDays: 10 } } });
  const warnFrom = (warnDays: number) =>
    changeMonitor(runtime.database, { tenantId, id, nowMs: NOW_MS }, ({ monitor, secrets, agentIds }) => ({
      settings: { ...monitor, checkSpec: { domain: { warnDays } } },
      secrets,
      agentIds,
    }));
  await know(runtime, { expiresAtMs: NOW_MS + 12 * DAY_MS, nowMs: NOW_MS });
  t.is(await round(NOW_MS), 0);
  await warnFrom(30);
  t.is(await round(NOW_MS), 1);
  await warnFrom(20);
  t.is(await round(NOW_MS), 0);
});

test('an https monitor with warn_days warns of domain and certificate expiry without a state change', async (t) => {
  const { runtime, round, said } = await openOffice(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], HTTPS);
  await know(runtime, { expiresAtMs: NOW_MS + 20 * DAY_MS, nowMs: NOW_MS });
  await storeCertificates(runtime.database, [
    {
      monitorNo: monitor.no,
      agentNo: agent.no,
      target: monitor.target,
      name: 'www.shop.example',
      expiresAt: NOW_MS / 1000 + 2 * 86_400,
      observedAtMs: NOW_MS,
    },
  ]);
  t.is(await round(NOW_MS), 2);
  t.deepEqual((await said()).map(({ detail }) => [detail.subject, detail.name, detail.days_remaining]).toSorted(), [
    ['certificate', 'www.shop.example', 2],
    ['domain', 'shop.example', 20],
  ]);
  const { rows } = await runtime.database.pool.query(
    'SELECT (SELECT count(*) FROM transitions) AS transitions, (SELECT state FROM monitors) AS state',
  );
  t.deepEqual(rows, [{ transitions: 0, state: 'pending' }]);
});

test('a certificate that was stored with too long a name is warned of once, and so are all others', async (t) => {
  const { runtime, round, said } = await openOffice(t);
  const agent = await runtime.addAgent('local');
  const expiresAt = NOW_MS / 1000 + 2 * 86_400;
  const addWithName = async (name: string) => {
    const { no, target } = await runtime.addMonitor([agent], { ...HTTPS, target: 'https://127.0.0.1/' });
    const observed = { monitorNo: no, agentNo: agent.no, target, name, expiresAt, observedAtMs: NOW_MS };
    await storeCertificates(runtime.database, [observed]);
    return no;
  };
  const advise = (monitorNo: number, name: string) =>
    inTransaction(runtime.database, (run) =>
      recordAdvisories(run, [{ monitorNo, subject: 'certificate', name, expiresAt, threshold: 3 }], NOW_MS),
    );
  // Random text does not compress, so it exceeds the maximum size of a row in PostgreSQL's index.
  const endless = randomBytes(4500).toString('base64');
  const no = await addWithName(endless);
  await t.throwsAsync(advise(no, endless), { code: '54000' });
  await addWithName('shop.example');
  const long = 'x'.repeat(1000);
  t.is((await advise(await addWithName(long), long)).length, 1, 'an older release has warned of this one');
  t.is(await round(NOW_MS), 2);
  t.is(await round(NOW_MS), 0);
  t.deepEqual(
    (await said()).map(({ detail }) => detail.name).toSorted(),
    [endless.slice(0, 255), 'shop.example'].toSorted(),
  );
});

test('monitors that cannot be warned of stop neither the next ones nor the lookups', async (t) => {
  const { runtime, whois, round, said } = await openOffice(t);
  const { pool } = runtime.database;
  const first = await runtime.addMonitor([], DOMAIN);
  // With the first one, these are as many as the chore reads at a time.
  await pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, target, interval_seconds, timeout_ms, follow_redirects,
       down_after_failures, up_after_successes, down_min_sources, check_spec, state_since, created_at, updated_at)
     SELECT 'mon_' || n, tenant_id, name, type, 'due.example', interval_seconds, timeout_ms, follow_redirects,
       down_after_failures, up_after_successes, down_min_sources, check_spec, state_since, created_at, updated_at
     FROM monitors, generate_series(1, 499) AS n`,
  );
  await runtime.addMonitor([], { ...DOMAIN, target: 'other.example' });
  for (const name of ['shop.example', 'other.example'])
    await know(runtime, { name, expiresAtMs: NOW_MS + 5 * DAY_MS, nowMs: NOW_MS });
  await pool.query(`ALTER TABLE advisories ADD CONSTRAINT unfit CHECK (monitor_no <> ${first.no})`);
  await t.throwsAsync(round(NOW_MS), { message: /"unfit"/ });
  t.deepEqual(
    (await said()).map(({ detail }) => detail.name),
    ['other.example'],
  );
  t.true(whois.queries.includes('due.example'));
  await pool.query('ALTER TABLE advisories DROP CONSTRAINT unfit');
  t.is(await round(NOW_MS), 1);
});

test('a certificate that no source has observed recently, or since it expired, causes no warning', async (t) => {
  const { runtime, round, said } = await openOffice(t);
  const [near, far] = [await runtime.addAgent('near'), await runtime.addAgent('far')];
  const monitor = await runtime.addMonitor([near, far], {
    ...HTTPS,
    target: 'https://127.0.0.1/',
    intervalSeconds: 60,
  });
  const renewed = NOW_MS / 1000 + 90 * 86_400;
  const see = (agent: Agent, days: number, atMs: number) =>
    storeCertificates(runtime.database, [
      {
        monitorNo: monitor.no,
        agentNo: agent.no,
        target: monitor.target,
        name: 'a.example',
        expiresAt: days === 90 ? renewed : NOW_MS / 1000 + days * 86_400,
        observedAtMs: atMs,
      },
    ]);
  await see(near, 20, NOW_MS);
  await see(far, 20, NOW_MS);
  t.is(await round(NOW_MS), 1);
  // One location is unavailable, and the other one sees the new certificate.
  await see(near, 90, NOW_MS + DAY_MS);
  t.is(await round(NOW_MS + DAY_MS + 60_000), 0);
  for (const day of [7, 14, 18, 19, 21]) {
    await see(near, 90, NOW_MS + day * DAY_MS);
    t.is(await round(NOW_MS + day * DAY_MS), 0);
  }
  await see(far, 30, NOW_MS + 25 * DAY_MS);
  t.is(await round(NOW_MS + 25 * DAY_MS), 1, 'it observed one that is about to expire');
  t.is(await round(NOW_MS + 30 * DAY_MS + 60_000), 0, 'it may have been renewed since');
  await see(far, 30, NOW_MS + 30 * DAY_MS + 60_000);
  t.is(await round(NOW_MS + 30 * DAY_MS + 120_000), 1, 'it was observed after it expired');
  t.is((await said()).length, 3);
});

test('a warning sent while the clock was ahead is repeated, but not soon after a clock jump', async (t) => {
  const { runtime, round } = await openOffice(t);
  await runtime.addMonitor([], DOMAIN);
  await know(runtime, { expiresAtMs: NOW_MS + 60 * DAY_MS, nowMs: NOW_MS + 55 * DAY_MS });
  t.is(await round(NOW_MS + 55 * DAY_MS), 1);
  await inTransaction(runtime.database, (_, client) => pullBackTimes(client, { nowMs: NOW_MS, backMs: 55 * DAY_MS }));
  await know(runtime, { expiresAtMs: NOW_MS + 60 * DAY_MS, nowMs: NOW_MS + 31 * DAY_MS });
  const jumpedAtMs = NOW_MS + 31 * DAY_MS;
  await runtime.database.pool.query(`INSERT INTO service_gaps (kind, started_at, ended_at) VALUES ('clock', $1, $2)`, [
    NOW_MS,
    jumpedAtMs,
  ]);
  t.is(await round(jumpedAtMs + 60_000), 0);
  t.is(await round(jumpedAtMs + 3_660_000), 1);
});

test('no warning is sent if it is disabled, not due or not applicable, or the monitor is paused', async (t) => {
  const { runtime, round } = await openOffice(t);
  const agent = await runtime.addAgent('local');
  const expiresAt = NOW_MS / 1000 + 2 * 86_400;
  const addWithCertificate = async (settings: Parameters<TestRuntime['addMonitor']>[1], target?: string) => {
    const monitor = await runtime.addMonitor([agent], settings);
    await storeCertificates(runtime.database, [
      {
        monitorNo: monitor.no,
        agentNo: agent.no,
        target: target ?? monitor.target,
        name: 'a.example',
        expiresAt,
        observedAtMs: NOW_MS,
      },
    ]);
    return monitor;
  };
  await know(runtime, { expiresAtMs: NOW_MS + 2 * DAY_MS, nowMs: NOW_MS });
  await addWithCertificate({ ...HTTPS, checkSpec: {} });
  await addWithCertificate({ ...HTTPS, target: 'http://127.0.0.1/' });
  await addWithCertificate({ ...HTTPS, target: 'https://127.0.0.1/' }, 'https://127.0.0.1/before');
  await addWithCertificate({ ...HTTPS, target: 'https://127.0.0.1/', checkSpec: { domain: { warnDays: 1 } } });
  await runtime.addMonitor([], { ...DOMAIN, target: '' });
  const paused = await addWithCertificate(HTTPS);
  await pauseMonitor(runtime.database, { tenantId: runtime.tenantId, id: paused.id, nowMs: NOW_MS, author: null });
  t.is(await round(NOW_MS), 0);
});

test('registry data that is old, or from before the expiry, causes no warning: it may have been renewed', async (t) => {
  const { runtime, round } = await openOffice(t);
  await runtime.addMonitor([], DOMAIN);
  await know(runtime, { expiresAtMs: NOW_MS + DAY_MS / 2, nowMs: NOW_MS });
  t.is(await round(NOW_MS + 8 * DAY_MS), 0);
  await know(runtime, { expiresAtMs: NOW_MS + DAY_MS / 2, nowMs: NOW_MS });
  t.is(await round(NOW_MS + DAY_MS * 0.75), 0);
});

test('an advisory is sent to every channel of its monitor and to no other', async (t) => {
  const { runtime, round } = await openOffice(t);
  const monitor = await runtime.addMonitor([], DOMAIN);
  const other = await runtime.addMonitor([], { ...DOMAIN, target: 'other.example' });
  const own = await addChannel(runtime, { allMonitors: false, monitorIds: [monitor.id] });
  const strange = await addChannel(runtime, { allMonitors: false, monitorIds: [other.id] });
  await know(runtime, { expiresAtMs: NOW_MS + 2 * DAY_MS, nowMs: NOW_MS });
  await know(runtime, { expiresAtMs: NOW_MS + 200 * DAY_MS, nowMs: NOW_MS, name: 'other.example' });
  t.is(await round(NOW_MS), 1);
  const { rows } = await runtime.database.pool.query<{ channel_id: string }>('SELECT channel_id FROM deliveries');
  const channels = rows.map((row) => row.channel_id);
  t.is(channels.length, 2);
  t.true(channels.includes(own) && !channels.includes(strange));
});

test('the chore performs due lookups and sends the resulting warnings in the same round', async (t) => {
  const { runtime, whois, round, said } = await openOffice(
    t,
    () => 'domain: shop.example\nexpires: 2026-11-26 12:00:00\n',
  );
  await runtime.addMonitor([], { ...HTTPS, target: 'https://www.shop.example/a' });
  await runtime.addMonitor([], { ...HTTPS, target: 'https://shop.example/b' });
  t.is(await round(NOW_MS), 2);
  t.deepEqual(whois.queries, ['shop.example']);
  t.deepEqual(
    (await said()).map(({ detail }) => detail.days_remaining),
    [5, 5],
  );
  t.is(await round(NOW_MS + 3_600_000), 0);
  t.is(whois.queries.length, 1);
});

test('lookups that fail stop no other, and the chore fails at its end', async (t) => {
  const { runtime, said } = await openOffice(t);
  const failing = ['a.example', 'b.example', 'c.example', 'd.example'];
  for (const target of [...failing, 'shop.example']) await runtime.addMonitor([], { ...DOMAIN, target });
  const knowDomain: KnowDomain = async (name) => {
    if (failing.includes(name)) throw new Error(`${name} cannot be looked up`);
    await know(runtime, { name, expiresAtMs: NOW_MS + 5 * DAY_MS, nowMs: NOW_MS });
    return { facts: unknownDomain(name), lookupMs: null };
  };
  await t.throwsAsync(adviseOfExpiries({ ...runtime, now: () => NOW_MS }, knowDomain), { message: /cannot be looked/ });
  t.deepEqual(
    (await said()).map(({ detail }) => detail.name),
    ['shop.example'],
  );
});

test('concurrent chores send each advisory once', async (t) => {
  const { runtime, round, said } = await openOffice(t);
  for (let index = 0; index < 20; index += 1) await runtime.addMonitor([], DOMAIN);
  await know(runtime, { expiresAtMs: NOW_MS + 2 * DAY_MS, nowMs: NOW_MS });
  await Promise.all([round(NOW_MS), round(NOW_MS), round(NOW_MS)]);
  t.is((await said()).length, 20);
});

test('a signed advisory is delivered to a real receiver once, days before the expiry', async (t) => {
  const receiver = await trustedReceiver(t);
  const expiry = new Date(Date.now() + 6.5 * DAY_MS).toISOString();
  const { runtime, whois } = await openOffice(t, () => `domain: shop.example\nexpires: ${expiry}\n`);
  await runtime.database.pool.query('DELETE FROM channels');
  await addChannel(runtime, { url: receiver.url });
  await runtime.addMonitor([], { ...DOMAIN, name: 'Our domain' });
  const deliver = startDeliver(runtime, {
    allowPrivateNetwork: true,
    webhookTimeoutSeconds: 60,
    deliveryRetrySeconds: [5],
    telegram: { botToken: null, botName: null, apiUrl: 'https://api.telegram.org' },
    slack: { apiUrl: 'https://slack.com/api' },
    mail: null,
  });
  const maintain = startMaintain(runtime, {
    allowPrivateNetwork: true,
    whoisServer: whois,
    rdapBootstrapUrl: 'http://127.0.0.1:9/dns.json',
  });
  t.teardown(async () => {
    await maintain.stop();
    await deliver.stop();
  });
  const rounds = () =>
    runtime.logLines.filter(({ msg, chore }) => msg === 'chore.completed' && chore === 'advisories').length;
  // A chore that has not been cleared yet is not added again.
  await until(
    async () => {
      await runtime.queues.enqueueChore('advisories');
      return rounds() >= 3;
    },
    { intervalMs: 100 },
  );
  const message = await until(() => receiver.received[0]);
  t.is(receiver.received.length, 1);
  t.like(message, { event: 'advisory.domain_expiry' });
  t.like(message.json, {
    event: 'advisory.domain_expiry',
    state: 'expiring',
    monitor: { name: 'Our domain', type: 'domain', target: 'shop.example' },
  });
  t.like(message.json['detail'], {
    subject: 'domain',
    name: 'shop.example',
    expires_at: Math.floor(Date.parse(expiry) / 1000),
    days_remaining: 7,
    sources_down: [],
    incident_id: null,
  });
});
