import test, { type ExecutionContext } from 'ava';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { ReportMessage } from '../../../core/statistics/reports/message.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import type { Agent } from '../../../models/agents/agents.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { reopenDelivery } from '../../../models/alerts/delivery-record.ts';
import { runOn } from '../../../models/sql.ts';
import { NO_CONNECTION } from '../../../notifications/attempt-result.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { startDeliver } from '../../../workers/processes/deliver.ts';
import type { RunningProcess } from '../../../workers/runtime.ts';
import { createHarness } from '../../helpers/harness.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { startMailServer, type MailServer } from '../../helpers/smtp-server.ts';
import { insertReport } from '../../helpers/stored-report.ts';
import { startTelegramServer, type TelegramServer } from '../../helpers/telegram-server.ts';
import { until } from '../../helpers/until.ts';

const ADA = 5_000_000_001;

// The tests share one runtime and have an account each. They run serially, because they change the mail server's
// refusals.
const { harness, close } = createHarness();
let runtime: TestRuntime;
let mail: MailServer;
let telegram: TelegramServer;
let agent: Agent;
let running: RunningProcess;
let made = 0;
/** Counted troubles with the mail server. */
const troubles: string[] = [];

test.before(async () => {
  runtime = await openTestRuntime(harness);
  agent = await runtime.addAgent('local');
  mail = await startMailServer(harness);
  telegram = await startTelegramServer(harness);
  telegram.open(ADA);
  running = startSending(mail.settings);
  harness.teardown(() => running.stop());
});
test.after.always(close);
test.afterEach.always(() => Object.assign(mail.refusals, { connect: null, from: null, to: null, data: null }));

test.serial('down and up emails of an incident share a thread, each with its own Message-ID', async (t) => {
  const { address, change } = await prepare(t);
  const [down] = await change('down');
  await until(() => mail.mailsTo(address).length === 1);
  const [up] = await change('up');
  await until(() => mail.mailsTo(address).length === 2);
  const [first, second] = mail.mailsTo(address);
  t.is(first?.headers['subject'], 'Down: Shop');
  t.is(second?.headers['subject'], 'Recovered: Shop');
  t.is(first?.headers['message-id'], `<${down?.deliveryId}@spotcheck.example>`);
  t.is(second?.headers['message-id'], `<${up?.deliveryId}@spotcheck.example>`);
  t.regex(first?.headers['references'] ?? '', /^<inc_\w+@spotcheck\.example>$/);
  for (const name of ['references', 'in-reply-to']) t.is(second?.headers[name], first?.headers['references']);
  t.regex(first?.text ?? '', /^Down: Shop\r?\nHTTP 503 instead of 2xx/);
  t.regex(first?.text ?? '', /Unsubscribe: http:\/\/localhost:3000\/connect\/email\/unsubscribe\?token=/);

  const [again] = await change('down');
  await until(() => mail.mailsTo(address).length === 3);
  t.truthy(again);
  t.not(mail.mailsTo(address)[2]?.headers['references'], first?.headers['references']);
});

test.serial('a temporary refusal is retried with the same Message-ID; a redelivery gets a new one', async (t) => {
  const { tenantId, address, change } = await prepare(t);
  mail.refusals.to = { code: 451, text: '4.7.1 Greylisted', once: true };
  const [delivery] = await change('down');
  const id = delivery?.deliveryId ?? '';
  await finished(id);
  t.like((await attemptsOf(id))[0], { outcome: 'retry', status_code: 451, response: '451 4.7.1 Greylisted' });
  t.like(await deliveryOf(id), { outcome: 'delivered', attempts: 2 });
  t.is(mail.mailsTo(address)[0]?.headers['message-id'], `<${id}@spotcheck.example>`);

  const reopened = await reopenDelivery(runtime.database, { tenantId, id, author: null }, runtime.now());
  const { channel_id: channelId } = await deliveryOf(id);
  await runtime.queues.enqueueAttempts([
    { deliveryId: id, channelId, attempt: reopened?.attempt ?? 0, dueAtMs: runtime.now() },
  ]);
  await until(() => mail.mailsTo(address).length === 2);
  const [first, second] = mail.mailsTo(address);
  t.is(second?.headers['message-id'], `<${id}.2@spotcheck.example>`);
  t.is(second?.headers['references'], first?.headers['references']);
  t.regex(second?.headers['subject'] ?? '', /^Redelivered: Down: Shop$/);
});

test.serial('a permanent refusal of the address disconnects the channel and notifies another one', async (t) => {
  const { tenantId, channelId, address, change } = await prepare(t);
  const other = await addChannel(tenantId);
  mail.gone.add(address);
  const [delivery] = await change('down', [channelId]);
  const id = delivery?.deliveryId ?? '';
  await finished(id);
  t.like((await attemptsOf(id))[0], { outcome: 'failed', status_code: 550, response: '550 5.1.1 No such user' });
  const channel = await until(async () => {
    const row = await channelOf(channelId);
    return row.status === 'pending' && row;
  });
  t.like(channel, { enabled: true, failures: 0 });
  t.is(
    channel.last_error,
    'The mail server refused the address with 550. Confirm the address again once it takes mail',
  );
  const told = await until(() =>
    mail.mailsTo(other.address).find(({ headers }) => headers['subject']?.startsWith('Channel disconnected')),
  );
  t.false('references' in told.headers);
  t.deepEqual(mail.mailsTo(address), []);
});

test.serial(
  'a refused sender is retried, logged and counted for the operator; the channel stays connected',
  async (t) => {
    const { channelId, change } = await prepare(t);
    mail.refusals.from = { code: 550, text: '5.7.1 Sender is not allowed' };
    const [delivery] = await change('down');
    const id = delivery?.deliveryId ?? '';
    await finished(id);
    const attempts = await attemptsOf(id);
    t.deepEqual(
      attempts.map(({ outcome, status_code: code, response }) => [outcome, code, response]),
      [
        ['retry', null, null],
        ['retry', null, null],
        ['failed', null, null],
      ],
    );
    t.like(await channelOf(channelId), { status: 'connected', enabled: true });
    const lines = runtime.logLines.filter(({ msg }) => msg === 'mail_server.failed');
    t.like(lines.at(-1), { trouble: 'refused' });
    t.regex(String(lines.at(-1)?.['error']), /5\.7\.1 Sender is not allowed/);
    t.is(troubles.filter((trouble) => trouble === 'refused').length, 3);
  },
);

test.serial('a report email lists its monitors and has the table attached', async (t) => {
  const { tenantId, channelId, address, monitorId } = await prepare(t);
  const id = runtime.newId('dlv');
  await insertReport(runtime.databaseUrl, monitorId);
  const message: ReportMessage = {
    version: '1',
    event: 'report',
    event_at: 1_774_224_000,
    report: { id: 'rep_test', period: 'week', period_start: 1_773_619_200, period_end: 1_774_224_000 },
    monitors: 1,
    uptime_percent: 99.8,
    incidents: 1,
    sla_met: 0,
    sla_missed: 1,
    worst_monitors: [],
    url: 'https://spotcheck.example/reports/rep_test',
  };
  const createdAtMs = runtime.now();
  await insertDeliveries(runOn(runtime.database.pool), [
    { id, tenantId, channelId, monitorId: null, message, createdAtMs },
  ]);
  await runtime.queues.enqueueAttempts([{ deliveryId: id, channelId, attempt: 1, dueAtMs: createdAtMs }]);
  const sent = await until(() => mail.mailsTo(address)[0]);
  t.is(sent.headers['subject'], 'Weekly report: 16 to 22 March 2026');
  t.regex(sent.text, /99\.8% uptime over 1 monitor, 1 incident/);
  t.regex(sent.text, /Shop: uptime 99\.800%, slo missed, incidents 1, down 20 minutes 10 seconds/);
  t.regex(sent.html, /<td[^>]*>Shop<\/td><td[^>]*>99\.800%<\/td>/);
  const file = sent.parts.find(({ name }) => name !== null);
  t.like(file, { type: 'text/csv', name: 'report-week-2026-03-16.csv' });
  t.regex(file?.content ?? '', /^id,name,type,uptime_percent,.*\r\n.*,Shop,http,99\.8,/);
  t.false('references' in sent.headers);
});

test.serial('stopping finishes emails being sent and postpones waiting ones; each arrives once', async (t) => {
  const held = Promise.withResolvers<void>();
  mail.hold = held.promise;
  const { tenantId, change } = await prepare(t);
  const others = await Promise.all(Array.from({ length: 14 }, () => addChannel(tenantId)));
  const takenBefore = mail.taken.length;
  const deliveries = await change('down');
  t.is(deliveries.length, 15);
  await until(async () => mail.held === 10 && (await claimedOf(tenantId)) === 15);
  const stopped = running.stop();
  mail.hold = null;
  held.resolve();
  await stopped;
  t.is(mail.taken.length, takenBefore + 10);
  const attempts = (await Promise.all(deliveries.map(({ deliveryId }) => attemptsOf(deliveryId)))).flat();
  const putOff = attempts.filter(({ outcome }) => outcome === 'retry');
  t.deepEqual(
    putOff.map(({ error }) => error),
    Array.from({ length: 5 }, () => NO_CONNECTION),
  );
  running = startSending(mail.settings);
  for (const { deliveryId } of deliveries) await finished(deliveryId);
  for (const { address } of others) t.is(mail.mailsTo(address).length, 1);
});

test.serial('a hanging mail server does not hold up other channels', async (t) => {
  const held = Promise.withResolvers<void>();
  mail.hold = held.promise;
  const { tenantId, address, change } = await prepare(t);
  for (let index = 0; index < 30; index += 1) await addChannel(tenantId);
  const chat = runtime.newId('nch');
  await createChannel(runtime.database, { ...channelFor(tenantId), id: chat, type: 'telegram' });
  await runtime.database.pool.query('UPDATE channels SET chat_id = $2 WHERE id = $1', [chat, String(ADA)]);
  t.is((await change('down')).length, 32);
  await until(() => telegram.messagesTo(ADA).length === 1);
  t.deepEqual(mail.mailsTo(address), []);
  mail.hold = null;
  held.resolve();
  await until(() => mail.mailsTo(address).length === 1);
});

const OPTIONS = {
  allowPrivateNetwork: false,
  webhookTimeoutSeconds: 60,
  deliveryRetrySeconds: [0.1, 0.1],
  slack: { apiUrl: 'https://slack.com/api' },
};

function startSending(settings: MailServer['settings']): RunningProcess {
  const metrics = { ...runtime.metrics, mailServerFailed: (trouble: string) => void troubles.push(trouble) };
  return startDeliver(
    { ...runtime, metrics },
    {
      ...OPTIONS,
      telegram: { botToken: telegram.token, botName: null, apiUrl: telegram.url },
      mail: settings,
    },
  );
}

/** Creates an account with a monitor that is up and a channel to a new address. */
async function prepare(t: ExecutionContext) {
  const tenantId = runtime.newId('ten');
  const nowMs = runtime.now();
  await createTenant(runtime.database, { id: tenantId, name: tenantId, plan: 'pro', nowMs, author: null });
  const monitor = await runtime.addMonitor([agent], { name: 'Shop', downAfterFailures: 1 });
  await runtime.database.pool.query('UPDATE monitors SET tenant_id = $2 WHERE id = $1', [monitor.id, tenantId]);
  const { id, address } = await addChannel(tenantId);
  let steps = 0;
  const step = async (verdict: Verdict): Promise<readonly DueAttempt[]> => {
    steps += 1;
    const evaluate = createEvaluator({ ...runtime, now: runtime.now });
    const dueAtMs = nowMs - 60_000 + 10 * steps;
    return (await evaluate([resultOf(monitor, agent, { dueAtMs, verdict })])).deliveries;
  };
  t.deepEqual(await step('up'), []);
  return {
    tenantId,
    monitorId: monitor.id,
    channelId: id,
    address,
    /** Changes the monitor and adds the jobs, only those of `channelIds` if given. */
    async change(verdict: Verdict, channelIds?: readonly string[]) {
      const deliveries = (await step(verdict)).filter(
        ({ channelId }) => channelIds === undefined || channelIds.includes(channelId),
      );
      await runtime.queues.enqueueAttempts(deliveries);
      return deliveries;
    },
  };
}

async function addChannel(tenantId: string) {
  const channel = channelFor(tenantId);
  await createChannel(runtime.database, channel);
  return channel;
}

function channelFor(tenantId: string) {
  made += 1;
  return {
    id: runtime.newId('nch'),
    tenantId,
    type: 'email' as const,
    name: 'On call',
    status: 'connected' as const,
    address: `oncall-${made}@customer.example`,
    allMonitors: true,
    monitorIds: [],
    nowMs: 0,
    author: null,
  };
}

async function finished(id: string): Promise<void> {
  await until(async () => (await deliveryOf(id)).outcome !== 'pending');
}

async function deliveryOf(id: string) {
  return (await runtime.database.pool.query('SELECT * FROM deliveries WHERE id = $1', [id])).rows[0];
}

async function attemptsOf(id: string) {
  const text = 'SELECT * FROM delivery_attempts WHERE delivery_id = $1 ORDER BY attempt';
  return (await runtime.database.pool.query(text, [id])).rows;
}

/** Returns the number of claimed deliveries of an account. */
async function claimedOf(tenantId: string): Promise<number> {
  const text = 'SELECT count(*)::int AS claimed FROM deliveries WHERE tenant_id = $1 AND claimed_until IS NOT NULL';
  return (await runtime.database.pool.query(text, [tenantId])).rows[0].claimed;
}

async function channelOf(id: string) {
  return (await runtime.database.pool.query('SELECT * FROM channels WHERE id = $1', [id])).rows[0];
}
