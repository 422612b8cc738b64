import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { AgentMessage } from '../../../core/agents/message.ts';
import type { ChannelType } from '../../../core/alerts/channel.ts';
import type { WebhookFormat } from '../../../core/alerts/webhook.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { createAgent, deleteAgent, revokeAgent, type Agent } from '../../../models/agents/agents.ts';
import { updateLastSeenAt } from '../../../models/agents/shared-agents.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { claimDeliveries } from '../../../models/alerts/delivery-attempts.ts';
import { listDeliveries } from '../../../models/alerts/delivery-record.ts';
import { recordPingAvailability } from '../../../models/heartbeats/watch.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { watchAgents } from '../../../workers/agents/watch.ts';
import { startAgentWatch } from '../../../workers/processes/watches.ts';
import { recordAttempt } from '../../helpers/deliveries.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const SECOND = 1000;

/** Maximum interval at which availability is recorded while pings count as available, in seconds. */
const HELD_EVERY = 2;

/** Interval at which private agents are polled, in seconds. */
const ROUND = 3;

type NotifiedEvent = { event: string; name: string; at: number; eventAt: number };

/**
 * Sets up agents at second 0 of a simulated time. The test triggers check-ins, availability and the rounds of the
 * watch.
 */
async function stage(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  // A full second, as check-ins are stored.
  const startMs = Math.floor(Date.now() / SECOND) * SECOND;
  const at = (second: number) => Math.round(startMs + second * SECOND);
  const enqueued: DueAttempt[] = [];
  let heldAt = 0;
  const reopen = async (second: number) => {
    heldAt = second;
    await recordPingAvailability(runtime.database, () => at(second));
  };
  const watch = (second: number) =>
    watchAgents({ ...runtime, now: () => at(second), announce: (deliveries) => void enqueued.push(...deliveries) });
  await reopen(0);
  return {
    runtime,
    at,
    watch,
    reopen,
    enqueued,
    checkIn: (second: number, ...agents: Agent[]) =>
      Promise.all(agents.map((agent) => updateLastSeenAt(runtime.database, agent.no, at(second)))),
    /** Records availability and polls the agents, each at its production interval. */
    async live(to: number) {
      for (let second = Math.ceil(heldAt); second <= to; second += 1) {
        if (second >= heldAt + HELD_EVERY) await reopen(second);
        if (second % ROUND === 0) await watch(second);
      }
    },
    async listNotified(): Promise<NotifiedEvent[]> {
      const { rows } = await runtime.database.pool.query<{ message: AgentMessage; created_at: number }>(
        `SELECT message, created_at FROM deliveries WHERE event LIKE 'agent.%' ORDER BY created_at, id`,
      );
      return rows.map(({ message, created_at }) => ({
        event: message.event,
        name: message.agent.name,
        at: (created_at - startMs) / SECOND,
        eventAt: message.event_at - startMs / SECOND,
      }));
    },
  };
}

function addOwn(runtime: TestRuntime, name: string, tenantId = runtime.tenantId): Promise<Agent> {
  return createAgent(runtime.database, {
    id: runtime.newId('agt'),
    tenantId,
    name,
    region: 'hanoi',
    tokenFingerprint: randomBytes(32),
    nowMs: runtime.now(),
  });
}

type ChannelOptions = {
  tenantId?: string;
  type?: ChannelType;
  allMonitors?: boolean;
  status?: 'connected' | 'pending';
  format?: WebhookFormat;
};

async function addChannel(
  runtime: TestRuntime,
  {
    tenantId = runtime.tenantId,
    type = 'webhook',
    allMonitors = true,
    status = 'connected',
    format,
  }: ChannelOptions = {},
): Promise<string> {
  const id = runtime.newId('nch');
  const webhook = { url: 'https://hooks.example/in', signingSecret: 'whsec_c2VjcmV0', format };
  await createChannel(runtime.database, {
    id,
    tenantId,
    type,
    name: id,
    status,
    allMonitors,
    monitorIds: [],
    ...(type === 'webhook' && { webhook }),
    nowMs: runtime.now(),
    author: null,
  });
  return id;
}

async function offlineAgents({ database }: TestRuntime): Promise<string[]> {
  return (
    await database.pool.query<{ name: string }>('SELECT name FROM agents WHERE offline_at IS NOT NULL ORDER BY name')
  ).rows.map(({ name }) => name);
}

// Serial, because each test opens several connections, and together they would exceed the server's limit.
test.serial(
  'an agent silent for 90 s is reported offline once, within ten seconds, and online once it is back',
  async (t) => {
    const { runtime, checkIn, live, listNotified, enqueued } = await stage(t);
    const agent = await addOwn(runtime, 'home-lab');
    await addChannel(runtime);
    for (let second = 0; second <= 30; second += 15) await checkIn(second, agent);
    await live(600);
    await checkIn(600, agent);
    await live(612);
    const events = await listNotified();
    t.deepEqual(
      events.map(({ event, name, eventAt }) => [event, name, eventAt]),
      [
        ['agent.offline', 'home-lab', 120],
        ['agent.online', 'home-lab', 600],
      ],
    );
    t.true(events[0]!.at >= 120 && events[0]!.at < 130, `reported at ${events[0]!.at}`);
    t.true(events[1]!.at < 610);
    t.is(enqueued.length, 2);
    t.deepEqual(await offlineAgents(runtime), []);
  },
);

test.serial('the event names the agent, its last check-in and its page in the console, and no monitor', async (t) => {
  const { runtime, at, checkIn, live } = await stage(t);
  const agent = await addOwn(runtime, 'home-lab');
  const channelId = await addChannel(runtime);
  await checkIn(5, agent);
  await live(105);
  const { rows } = await runtime.database.pool.query(
    'SELECT channel_id, tenant_id, event, outcome, message FROM deliveries',
  );
  t.is(rows.length, 1);
  const lastSeenAt = at(5) / SECOND;
  t.deepEqual(rows[0], {
    channel_id: channelId,
    tenant_id: runtime.tenantId,
    event: 'agent.offline',
    outcome: 'pending',
    message: {
      version: '1',
      event: 'agent.offline',
      event_at: lastSeenAt + 90,
      monitor: null,
      agent: { id: agent.id, name: 'home-lab', region: 'hanoi' },
      state: 'offline',
      reason: 'The agent home-lab has not checked in for 90 s; its monitors use the remaining locations',
      detail: { sources_down: [], incident_id: null, last_seen_at: lastSeenAt },
      url: `http://localhost:3000/agents/${agent.id}`,
    },
  });
});

test.serial('an agent that never checked in, was revoked or was deleted is not reported', async (t) => {
  const { runtime, at, checkIn, live, listNotified } = await stage(t);
  const [, revoked, deleted] = [
    await addOwn(runtime, 'never'),
    await addOwn(runtime, 'revoked'),
    await addOwn(runtime, 'deleted'),
  ];
  await addChannel(runtime);
  await checkIn(1, revoked, deleted);
  await live(30);
  await runtime.database.pool.query('UPDATE agents SET revoked_at = 1 WHERE no = $1', [revoked.no]);
  await deleteAgent(runtime.database, { tenantId: runtime.tenantId, id: deleted.id, nowMs: at(60), author: null });
  await live(300);
  t.deepEqual(await listNotified(), []);
  t.deepEqual(await offlineAgents(runtime), []);
});

test.serial(
  'all enabled webhooks of the owner are notified, whatever their monitors, and no other channels',
  async (t) => {
    const { runtime, checkIn, live } = await stage(t);
    const other = runtime.newId('ten');
    await createTenant(runtime.database, { id: other, name: other, plan: 'pro', nowMs: runtime.now(), author: null });
    const [mine, theirs] = [await addOwn(runtime, 'mine'), await addOwn(runtime, 'theirs', other)];
    const expected = [
      [await addChannel(runtime), 'mine'],
      [await addChannel(runtime, { allMonitors: false }), 'mine'],
      [await addChannel(runtime, { tenantId: other }), 'theirs'],
    ];
    await addChannel(runtime, { type: 'telegram' });
    await addChannel(runtime, { status: 'pending' });
    const disabled = await addChannel(runtime);
    await runtime.database.pool.query('UPDATE channels SET enabled = false WHERE id = $1', [disabled]);
    await checkIn(0, mine, theirs);
    await live(105);
    const { rows } = await runtime.database.pool.query<{ channel_id: string; message: AgentMessage }>(
      'SELECT channel_id, message FROM deliveries',
    );
    t.deepEqual(
      rows.map(({ channel_id, message }) => [channel_id, message.agent.name]).toSorted(),
      expected.toSorted(),
    );
  },
);

test.serial('a shared agent goes offline and online like any other, without notifications', async (t) => {
  const { runtime, checkIn, live, listNotified, watch } = await stage(t);
  const shared = await runtime.addAgent('frankfurt');
  await addChannel(runtime);
  await checkIn(10, shared);
  t.false((await watch(10)).hasOwn);
  await live(110);
  t.deepEqual(await offlineAgents(runtime), ['frankfurt']);
  await checkIn(110, shared);
  await live(120);
  t.deepEqual(await offlineAgents(runtime), []);
  t.deepEqual(await listNotified(), []);
});

test.serial('without a web process no agent goes offline, and once one is back every agent has 90 s', async (t) => {
  const { runtime, checkIn, live, reopen, watch, listNotified } = await stage(t);
  const [quick, gone] = [await addOwn(runtime, 'quick'), await addOwn(runtime, 'gone')];
  await addChannel(runtime);
  await checkIn(10, quick, gone);
  await live(20);
  for (const second of [60, 120, 600]) t.like(await watch(second), { offline: 0 });
  await reopen(600);
  await live(650);
  await checkIn(650, quick);
  await live(689);
  t.deepEqual(await listNotified(), []);
  await live(700);
  t.deepEqual(
    (await listNotified()).map(({ event, name, eventAt }) => [event, name, eventAt]),
    [['agent.offline', 'gone', 690]],
  );
});

test.serial(
  'an offline agent stays offline through a downtime of the service, without another notification',
  async (t) => {
    const { runtime, checkIn, live, reopen, listNotified } = await stage(t);
    const agent = await addOwn(runtime, 'home-lab');
    await addChannel(runtime);
    await checkIn(0, agent);
    await live(105);
    await reopen(400);
    await live(700);
    t.is((await listNotified()).length, 1);
    await checkIn(700, agent);
    await live(710);
    t.deepEqual(
      (await listNotified()).map(({ event }) => event),
      ['agent.offline', 'agent.online'],
    );
  },
);

test.serial(
  'when most agents go silent together, only those still silent after another 60 s are reported',
  async (t) => {
    const { runtime, checkIn, live, listNotified } = await stage(t);
    const agents = await Promise.all(['a', 'b', 'c', 'd'].map((name) => addOwn(runtime, name)));
    await addChannel(runtime);
    await checkIn(20, agents[0]!, agents[1]!, agents[2]!);
    for (let second = 20; second <= 300; second += 15) {
      await checkIn(second, agents[3]!);
      if (second === 140) await checkIn(second, agents[1]!);
      await live(second);
      if (second > 140) await checkIn(second, agents[1]!);
    }
    const events = await listNotified();
    t.deepEqual(events.map(({ event, name, eventAt }) => [event, name, eventAt]).toSorted(), [
      ['agent.offline', 'a', 110],
      ['agent.offline', 'c', 110],
    ]);
    t.true(
      events.every(({ at }) => at >= 170 && at < 180),
      JSON.stringify(events),
    );
    t.is(runtime.logLines.filter(({ msg }) => msg === 'agents.silence_held').length, 1);
  },
);

test.serial('four concurrent watches report each agent once', async (t) => {
  const { runtime, checkIn, live, watch, listNotified, reopen } = await stage(t);
  const agents = await Promise.all(Array.from({ length: 20 }, (_, index) => addOwn(runtime, `agent-${index}`)));
  await addChannel(runtime);
  await checkIn(0, ...agents);
  for (let second = 2; second <= 152; second += 2) await reopen(second);
  const rounds = await Promise.all(Array.from({ length: 4 }, () => watch(152)));
  t.is(
    rounds.reduce((total, { offline }) => total + offline, 0),
    20,
  );
  t.is(new Set((await listNotified()).map(({ name }) => name)).size, 20);
  t.is((await listNotified()).length, 20);
  await checkIn(153, ...agents);
  const back = await Promise.all(Array.from({ length: 4 }, () => watch(153)));
  t.is(
    back.reduce((total, { online }) => total + online, 0),
    20,
  );
  await live(154);
  t.is((await listNotified()).length, 40);
});

test.serial('a check-in between the poll and the offline update wins', async (t) => {
  const { runtime, at, checkIn, reopen, watch, listNotified } = await stage(t);
  const agent = await addOwn(runtime, 'home-lab');
  await addChannel(runtime);
  await checkIn(0, agent);
  for (let second = 2; second <= 92; second += 2) await reopen(second);
  const client = await runtime.database.pool.connect();
  await client.query('BEGIN');
  await client.query('UPDATE agents SET last_seen_at = $2 WHERE no = $1', [agent.no, at(92) / SECOND]);
  const round = watch(92);
  await until(
    async () =>
      (
        await runtime.database.pool.query(
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
      ).rowCount,
  );
  await client.query('COMMIT');
  client.release();
  t.like(await round, { offline: 0 });
  t.deepEqual(await listNotified(), []);
});

test.serial('a change is logged and counted, and the watching process adds the jobs of its deliveries', async (t) => {
  const { runtime, at, checkIn, reopen } = await stage(t);
  const agent = await addOwn(runtime, 'home-lab');
  await addChannel(runtime);
  await checkIn(0, agent);
  for (let second = 2; second <= 92; second += 2) await reopen(second);
  const counted: [string, number][] = [];
  const metrics = {
    ...runtime.metrics,
    agentsChanged: (to: 'offline' | 'online', count: number) => void counted.push([to, count]),
  };
  const enqueued: DueAttempt[] = [];
  const enqueue = runtime.queues.enqueueAttempts.bind(runtime.queues);
  runtime.queues.enqueueAttempts = async (attempts) => {
    await enqueue(attempts);
    enqueued.push(...attempts);
  };
  const process = startAgentWatch({ ...runtime, metrics, now: () => at(92) });
  await until(() => counted.length > 0);
  await process.stop();
  t.deepEqual(counted, [['offline', 1]]);
  const line = runtime.logLines.find(({ msg }) => msg === 'agent.offline');
  t.like(line, { agent_id: agent.id, tenant_id: runtime.tenantId, last_seen_at: at(0) / SECOND });
  const { rows } = await runtime.database.pool.query<{ id: string }>(
    `SELECT id FROM deliveries WHERE event = 'agent.offline'`,
  );
  t.deepEqual(
    enqueued.map(({ deliveryId }) => deliveryId),
    rows.map(({ id }) => id),
  );
  t.is(enqueued.length, 1);
});

test.serial('a web process whose clock is ahead marks no agent offline that checks in with another one', async (t) => {
  const { runtime, at, checkIn, watch } = await stage(t);
  const agent = await addOwn(runtime, 'home-lab');
  for (let second = 0; second <= 120; second += 2) {
    await recordPingAvailability(runtime.database, () => at(second));
    await recordPingAvailability(runtime.database, () => at(second + 300));
    if (second % 30 === 0) await checkIn(second, agent);
    t.like(await watch(second), { offline: 0 });
  }
});

test.serial('a round does nothing before a web process has started, or without agents', async (t) => {
  const runtime = await openTestRuntime(t);
  const round = () => watchAgents({ ...runtime, announce: () => t.fail() });
  t.deepEqual(await round(), { offline: 0, online: 0, held: 0, hasOwn: false });
  await recordPingAvailability(runtime.database, runtime.now);
  t.deepEqual(await round(), { offline: 0, online: 0, held: 0, hasOwn: false });
});

/** Sets up an agent that is offline from second 90 and back at 120, with a channel whose attempts the test makes. */
async function stageChannel(t: ExecutionContext, format: WebhookFormat) {
  const staged = await stage(t);
  const { runtime, at, checkIn, live } = staged;
  const agent = await addOwn(runtime, 'home-lab');
  const channelId = await addChannel(runtime, { format });
  await checkIn(0, agent);
  await live(105);
  const claim = async (second: number, lanes = 1) => {
    const when = { nowMs: at(second), claimMs: 15 * SECOND };
    const claims = await claimDeliveries(runtime.database, Array<string>(lanes).fill(channelId), when);
    return claims.flatMap(({ claimed }) => claimed ?? []);
  };
  return {
    ...staged,
    agent,
    claim,
    async comeBack() {
      await checkIn(120, agent);
      await live(126);
    },
    /** Makes all due attempts, with the given outcome, and returns their events. */
    async attempt(second: number, outcome: 'retry' | 'delivered' = 'delivered') {
      const events: string[] = [];
      for (let claimed = await claim(second); claimed[0] !== undefined; claimed = await claim(second)) {
        const [{ deliveryId, attempt, event, monitorId }] = claimed;
        t.is(monitorId, null);
        events.push(event);
        const nextAttemptAtMs = outcome === 'retry' ? at(second + 60) : null;
        const result = { statusCode: 202, durationMs: 5, error: null, response: null, finishedAtMs: at(second) };
        await recordAttempt(runtime.database, { deliveryId, attempt, outcome, nextAttemptAtMs, ...result });
      }
      return events;
    },
    async outcomes() {
      const { database, tenantId } = runtime;
      const listed = await listDeliveries(database, { tenantId, channelId, filter: {}, limit: 10 });
      t.true(listed.every(({ agentId, monitorId }) => agentId === agent.id && monitorId === null));
      return listed.toReversed().map(({ event, outcome }) => `${event} ${outcome}`);
    },
  };
}

test.serial('a retried offline event opens no alert at a receiver after the agent is back', async (t) => {
  const { attempt, comeBack, outcomes } = await stageChannel(t, { preset: 'pagerduty' });
  t.deepEqual(await attempt(105, 'retry'), ['agent.offline']);
  await comeBack();
  t.deepEqual(await attempt(126), ['agent.online']);
  t.deepEqual(await attempt(165), []);
  t.deepEqual(await outcomes(), ['agent.offline superseded', 'agent.online delivered']);
});

test.serial('a retried online event does not resolve the alert of an agent that is offline again', async (t) => {
  const { attempt, comeBack, live, outcomes } = await stageChannel(t, { preset: 'pagerduty' });
  t.deepEqual(await attempt(105), ['agent.offline']);
  t.deepEqual(await attempt(165), []);
  await comeBack();
  t.deepEqual(await attempt(170, 'retry'), ['agent.online']);
  await live(225);
  t.deepEqual(await attempt(225), ['agent.offline']);
  t.deepEqual(await attempt(230), []);
  t.deepEqual(await outcomes(), ['agent.offline delivered', 'agent.online superseded', 'agent.offline delivered']);
});

test.serial('a retry is made while its event still holds, and an envelope receiver gets both events', async (t) => {
  const { attempt, comeBack } = await stageChannel(t, { preset: 'pagerduty' });
  t.deepEqual(await attempt(105, 'retry'), ['agent.offline']);
  t.deepEqual(await attempt(165), ['agent.offline']);
  await comeBack();
  t.deepEqual(await attempt(166), ['agent.online']);
  const envelopes = await stageChannel(t, null);
  t.deepEqual(await envelopes.attempt(105, 'retry'), ['agent.offline']);
  await envelopes.comeBack();
  t.deepEqual(await envelopes.attempt(165), ['agent.online', 'agent.offline']);
});

test.serial('pending events of an agent are sent in order', async (t) => {
  const { claim, comeBack } = await stageChannel(t, { preset: 'pagerduty' });
  await comeBack();
  t.deepEqual(
    (await claim(126, 2)).map(({ event }) => event),
    ['agent.offline'],
  );
  t.deepEqual(await claim(127, 2), []);
});

for (const [how, reason] of [
  ['deleted', 'The agent was deleted'],
  ['revoked', 'The token of the agent was revoked'],
] as const) {
  test.serial(`an agent that is ${how} while offline leaves no alert open at a stateful receiver`, async (t) => {
    const { runtime, agent, at, attempt, listNotified } = await stageChannel(t, { preset: 'pagerduty' });
    t.deepEqual(await attempt(105), ['agent.offline']);
    const key = { id: agent.id, nowMs: at(110), author: null };
    if (how === 'revoked') t.true(await revokeAgent(runtime.database, key));
    else t.not(await deleteAgent(runtime.database, { ...key, tenantId: runtime.tenantId }), null);
    t.deepEqual(await attempt(111), ['agent.online']);
    const notified = await listNotified();
    t.deepEqual(
      notified.map(({ event, eventAt }) => [event, eventAt]),
      [
        ['agent.offline', 90],
        ['agent.online', 110],
      ],
    );
    const { rows } = await runtime.database.pool.query<{ reason: string }>(
      `SELECT message ->> 'reason' AS reason FROM deliveries WHERE event = 'agent.online'`,
    );
    t.deepEqual(rows, [{ reason }]);
  });
}

test.serial(
  'deleting an online agent notifies no receiver, and deleting an offline one no envelope receiver',
  async (t) => {
    const { runtime, agent, comeBack, attempt, at } = await stageChannel(t, { preset: 'pagerduty' });
    await comeBack();
    t.deepEqual(await attempt(126), ['agent.offline', 'agent.online']);
    const key = { tenantId: runtime.tenantId, id: agent.id };
    t.not(await deleteAgent(runtime.database, { ...key, nowMs: at(130), author: null }), null);
    t.deepEqual(await attempt(131), []);
    const envelopes = await stageChannel(t, null);
    t.deepEqual(await envelopes.attempt(105), ['agent.offline']);
    const { database, tenantId } = envelopes.runtime;
    const deletion = { tenantId, id: envelopes.agent.id, nowMs: envelopes.at(110), author: null };
    t.not(await deleteAgent(database, deletion), null);
    t.deepEqual(await envelopes.attempt(111), []);
  },
);

test.serial('an agent can be deleted while one of its channels is being deleted', async (t) => {
  const { runtime, agent, at, attempt } = await stageChannel(t, { preset: 'pagerduty' });
  t.deepEqual(await attempt(105), ['agent.offline']);
  const { database, tenantId } = runtime;
  const other = await database.pool.connect();
  await other.query('BEGIN');
  await other.query('DELETE FROM channels');
  const deleting = deleteAgent(database, { tenantId, id: agent.id, nowMs: at(110), author: null });
  const isWaiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await until(async () => (await database.pool.query(isWaiting)).rowCount === 1);
  await other.query('COMMIT');
  other.release();
  t.not(await deleting, null);
});
