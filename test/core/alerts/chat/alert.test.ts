import test from 'ava';
import { buildAgentMessage } from '../../../../core/agents/message.ts';
import { buildChannelMessage } from '../../../../core/alerts/channel-message.ts';
import { buildAlert } from '../../../../core/alerts/chat/alert.ts';
import type { MonitorDetail, MonitorMessage } from '../../../../core/alerts/envelope.ts';
import { buildAdvisoryMessage } from '../../../../core/checks/domain/advisory.ts';
import { fillSummary, openSummary } from '../../../../core/incidents/storm.ts';

const EVENT_AT = Date.parse('2026-03-14T09:26:53Z') / 1000;
const NOW_MS = (EVENT_AT + 95) * 1000;
const LINK = { label: 'View monitor', url: 'https://spotcheck.example/monitors/mon_1' };

test('a down alert shows state, name, reason, failing locations, start, duration and a link', (t) => {
  t.deepEqual(buildAlert(messageOf({}), NOW_MS), {
    tone: 'bad',
    title: 'Down: Shop',
    text: 'HTTP 503 instead of 2xx (seen from 2 of 3 locations)',
    facts: [
      { label: 'Failing from', value: 'frankfurt, hanoi (2 of 3)' },
      { label: 'Since', value: '2026-03-14 09:26:53 UTC, for 1 minute 35 seconds' },
    ],
    link: LINK,
  });
});

test('an alert names up to five locations and counts the rest; a single one needs no count', (t) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  t.is(
    factOf(messageOf({ sources_down: names, sources_total: 9 }), 'Failing from'),
    'a, b, c, d, e and 2 more (7 of 9)',
  );
  t.is(factOf(messageOf({ sources_down: ['local'], sources_total: 1 }), 'Failing from'), 'local');
});

test('an alert names silent locations and unhealthy dependencies', (t) => {
  const message = messageOf({
    sources_silent: ['virginia'],
    dependencies: [{ id: 'mon_2', name: 'GitHub', state: 'degraded' }],
  });
  t.is(factOf(message, 'No data from'), 'virginia');
  t.is(factOf(message, 'Depends on'), 'GitHub (degraded)');
});

test('a recovery alert shows when it happened and how long the outage lasted', (t) => {
  const message: MonitorMessage = {
    ...messageOf({ previous_state: 'down', duration_seconds: 200, sources_down: [] }),
    event: 'monitor.up',
    state: 'up',
    reason: 'Working again',
  };
  t.deepEqual(buildAlert(message, NOW_MS), {
    tone: 'good',
    title: 'Recovered: Shop',
    text: 'Working again',
    facts: [
      { label: 'At', value: '2026-03-14 09:26:53 UTC' },
      { label: 'Duration', value: '3 minutes 20 seconds' },
    ],
    link: LINK,
  });
});

for (const [event, state, tone, title] of [
  ['monitor.degraded', 'degraded', 'warning', 'Degraded: Shop'],
  ['monitor.unknown', 'unknown', 'unclear', 'Unknown: Shop'],
] as const) {
  test(`${event} has the tone ${tone} and shows its state before the name`, (t) => {
    t.like(buildAlert({ ...messageOf({}), event, state }, NOW_MS), { tone, title });
  });
}

const LATE_MS = NOW_MS + 3_600_000;

test('a redelivered alert says so first, and shows its original time and the duration at that time', (t) => {
  t.deepEqual(buildAlert(messageOf({}), LATE_MS, { isSentAgain: true, isOvertaken: false }), {
    tone: 'neutral',
    title: 'Redelivered: Down: Shop',
    text: 'HTTP 503 instead of 2xx (seen from 2 of 3 locations)',
    facts: [
      { label: 'Redelivered', value: 'status as of 2026-03-14 09:27:05 UTC' },
      { label: 'Failing from', value: 'frankfurt, hanoi (2 of 3)' },
      { label: 'Since', value: '2026-03-14 09:26:53 UTC, for 12 seconds by then' },
    ],
    link: LINK,
  });
});

test('a late first attempt shows the current duration, or the original one if the state has changed since', (t) => {
  t.is(
    buildAlert(messageOf({}), LATE_MS, { isSentAgain: false, isOvertaken: false }).facts.at(-1)?.value,
    '2026-03-14 09:26:53 UTC, for 1 hour 1 minute',
  );
  const { tone, title, facts } = buildAlert(messageOf({}), LATE_MS, { isSentAgain: false, isOvertaken: true });
  t.deepEqual([tone, title], ['neutral', 'Delayed: Down: Shop']);
  t.deepEqual(facts[0], { label: 'Delayed', value: 'status as of 2026-03-14 09:27:05 UTC; changed since' });
  t.is(facts.at(-1)?.value, '2026-03-14 09:26:53 UTC, for 12 seconds by then');
});

test('a redelivered alert also says if the state has changed since', (t) => {
  const { title, facts } = buildAlert(messageOf({}), LATE_MS, { isSentAgain: true, isOvertaken: true });
  t.is(title, 'Redelivered: Down: Shop');
  t.deepEqual(facts[0], { label: 'Redelivered', value: 'status as of 2026-03-14 09:27:05 UTC; changed since' });
});

test('a redelivered summary or channel message shows its original time and the duration at that time', (t) => {
  const publicUrl = 'https://spotcheck.example';
  const again = { isSentAgain: true, isOvertaken: false };
  const summary = fillSummary(openSummary({ openedAtMs: EVENT_AT * 1000, publicUrl }), [
    { name: 'Shop', state: 'down' },
  ]);
  const failing = buildChannelMessage({
    channel: { id: 'nch_1', name: 'Pager', type: 'webhook' },
    failures: 100,
    failingSinceMs: EVENT_AT * 1000 - 7_200_000,
    lastError: 'gone',
    nowMs: EVENT_AT * 1000,
    publicUrl,
  });
  for (const message of [summary, failing]) {
    const { title, facts, tone } = buildAlert(message, LATE_MS, again);
    t.regex(title, /^Redelivered: /);
    t.is(tone, 'neutral');
    t.deepEqual(facts[0], { label: 'Redelivered', value: 'status as of 2026-03-14 09:26:53 UTC' });
  }
  t.is(buildAlert(summary, LATE_MS).facts.at(-1)?.value, '2026-03-14 09:26:53 UTC');
  t.is(
    buildAlert(failing, LATE_MS, again).facts.find(({ label }) => label === 'Since')?.value,
    '2026-03-14 07:26:53 UTC, for 2 hours by then',
  );
});

test('an advisory warns of a domain that expires soon', (t) => {
  const expiresAt = EVENT_AT + 14 * 86_400;
  const monitor = { id: 'mon_1', name: 'Shop', type: 'domain', target: 'shop.example' } as const;
  const message = buildAdvisoryMessage({
    monitor,
    subject: 'domain',
    name: 'shop.example',
    expiresAt,
    nowMs: EVENT_AT * 1000,
    publicUrl: 'https://spotcheck.example',
  });
  t.deepEqual(buildAlert(message, NOW_MS), {
    tone: 'warning',
    title: 'Expires soon: Shop',
    text: 'The domain shop.example expires in 14 days, on 2026-03-28',
    facts: [],
    link: LINK,
  });
});

test('an agent alert shows name, region and last check-in', (t) => {
  const facts = {
    agent: { id: 'agt_1', name: 'home-lab', region: 'hanoi' },
    atMs: EVENT_AT * 1000,
    lastSeenAt: EVENT_AT - 90,
    publicUrl: 'https://spotcheck.example',
  };
  t.like(buildAlert(buildAgentMessage({ ...facts, state: 'offline' }), NOW_MS), {
    tone: 'bad',
    title: 'Agent offline: home-lab',
    facts: [
      { label: 'Region', value: 'hanoi' },
      { label: 'Last check-in', value: '2026-03-14 09:25:23 UTC' },
      { label: 'Since', value: '2026-03-14 09:26:53 UTC, for 1 minute 35 seconds' },
    ],
  });
  t.like(buildAlert(buildAgentMessage({ ...facts, state: 'online' }), NOW_MS), {
    tone: 'good',
    title: 'Agent online: home-lab',
  });
});

test('long names and reasons are truncated and kept on one line', (t) => {
  const message = messageOf({ sources_down: ['x'.repeat(500), 'y'], sources_total: 2 });
  const { title, text } = buildAlert(
    { ...message, monitor: { ...message.monitor, name: `a\nb ${'n'.repeat(400)}` }, reason: 'r'.repeat(2000) },
    NOW_MS,
  );
  t.regex(title, /^Down: a b n{195}…$/);
  t.is(text?.length, 500);
  t.is(factOf(message, 'Failing from'), `${'x'.repeat(59)}…, y (2 of 2)`);
});

function factOf(message: MonitorMessage, label: string): string | undefined {
  return buildAlert(message, NOW_MS).facts.find((fact) => fact.label === label)?.value;
}

function messageOf(detail: Partial<MonitorDetail>): MonitorMessage {
  return {
    version: '1',
    event: 'monitor.down',
    event_at: EVENT_AT,
    monitor: { id: 'mon_1', name: 'Shop', type: 'http', target: 'https://shop.example/' },
    state: 'down',
    reason: 'HTTP 503 instead of 2xx (seen from 2 of 3 locations)',
    detail: {
      sources_down: ['frankfurt', 'hanoi'],
      incident_id: 'inc_1',
      cause: 'status_503',
      previous_state: 'up',
      sequence: 4,
      sources_total: 3,
      quorum: 2,
      detected_at: EVENT_AT + 12,
      ...detail,
    },
    url: LINK.url,
  };
}
