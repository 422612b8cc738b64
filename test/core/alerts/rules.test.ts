import test from 'ava';
import {
  AT_ONCE,
  describeRule,
  findRuleProblems,
  planDelivery,
  QUIET_AHEAD_MS,
  type ChannelRule,
  type PlannedEvent,
} from '../../../core/alerts/rules.ts';
import { ServiceCalendar } from '../../../core/statistics/service-sla.ts';

const NOW_MS = Date.parse('2026-03-28T21:30:00Z');
const DOWN: PlannedEvent = {
  event: 'monitor.down',
  tags: ['shop', 'env:prod'],
  nowMs: NOW_MS,
  incidentStartedAtMs: NOW_MS - 60_000,
};

const plan = (rules: ChannelRule[] | null, event: Partial<PlannedEvent> = {}) => {
  const { nowMs = DOWN.nowMs } = event;
  const planned = { ...DOWN, incidentStartedAtMs: nowMs - 60_000, ...event };
  const calendar = new ServiceCalendar({ fromMs: planned.nowMs, toMs: planned.nowMs + QUIET_AHEAD_MS });
  return planDelivery(rules, planned, calendar);
};
const untilOf = (rules: ChannelRule[], event: Partial<PlannedEvent> = {}) => {
  const hold = plan(rules, event)?.hold ?? null;
  return hold === null ? null : `${hold.reason} ${new Date(hold.untilMs).toISOString()}`;
};

test('a channel without rules is notified of everything at once', (t) => {
  t.deepEqual(plan(null), AT_ONCE);
});

test('the first rule that matches event and tag decides, and without a match nothing is delivered', (t) => {
  const rules: ChannelRule[] = [
    { events: ['monitor.degraded'] },
    { tags: ['other'] },
    { tags: ['nothing', 'shop'], after_seconds: 600 },
    {},
  ];
  t.is(untilOf(rules), 'delay 2026-03-28T21:39:00.000Z');
  t.is(plan([{ events: ['monitor.degraded'] }, { tags: ['other'] }]), null);
  t.deepEqual(plan(rules, { event: 'monitor.degraded' }), AT_ONCE);
});

test('a delay counts from the start of the incident and never holds a recovery', (t) => {
  const rules: ChannelRule[] = [{ after_seconds: 900 }];
  t.is(untilOf(rules), 'delay 2026-03-28T21:44:00.000Z');
  t.is(untilOf(rules, { incidentStartedAtMs: NOW_MS - 3_600_000 }), null);
  t.is(untilOf(rules, { incidentStartedAtMs: null }), 'delay 2026-03-28T21:45:00.000Z');
  t.is(untilOf(rules, { event: 'monitor.up' }), null);
});

test('quiet hours follow their time zone across clock changes, and also hold recoveries', (t) => {
  const quiet = { timezone: 'Europe/Berlin', hours: 'Mo-Su 22:00-07:00', mode: 'defer' as const };
  // The clocks go forward that night: seven o'clock is 05:00 UTC.
  t.is(untilOf([{ quiet }]), 'quiet_hours 2026-03-29T05:00:00.000Z');
  t.is(untilOf([{ quiet }], { event: 'monitor.up' }), 'quiet_hours 2026-03-29T05:00:00.000Z');
  t.is(untilOf([{ quiet }], { nowMs: Date.parse('2026-03-27T22:30:00Z') }), 'quiet_hours 2026-03-28T06:00:00.000Z');
  t.is(untilOf([{ quiet }], { nowMs: Date.parse('2026-03-28T12:00:00Z') }), null);
  // An alert due in quiet hours waits until they end; one due later waits for its delay.
  const noon = Date.parse('2026-03-28T20:30:00Z');
  t.is(
    untilOf([{ after_seconds: 3600, quiet }], { nowMs: noon, incidentStartedAtMs: noon }),
    'quiet_hours 2026-03-29T05:00:00.000Z',
  );
});

test('quiet hours end in the next week if the clocks skip the only other hour of one', (t) => {
  const hours = 'Mo-Sa 00:00-24:00; Su 00:00-02:00,03:00-24:00';
  const quiet = { timezone: 'Europe/Berlin', hours, mode: 'defer' as const };
  // The clocks go forward at two on the 28th of March.
  const nowMs = Date.parse('2027-03-21T04:00:00Z');
  t.is(untilOf([{ quiet }], { nowMs }), 'quiet_hours 2027-04-04T00:00:00.000Z');
});

test('quiet hours that drop alerts only defer recoveries', (t) => {
  const rules: ChannelRule[] = [{ quiet: { timezone: 'UTC', hours: 'Mo-Su 21:00-23:00', mode: 'drop' } }];
  t.true(plan(rules)?.isDropped);
  t.false(plan(rules, { event: 'monitor.up' })?.isDropped);
  t.is(untilOf(rules, { event: 'monitor.up' }), 'quiet_hours 2026-03-28T23:00:00.000Z');
  t.deepEqual(plan(rules, { nowMs: Date.parse('2026-03-28T12:00:00Z') }), AT_ONCE);
});

test('reminders and acknowledgements do not apply to recoveries', (t) => {
  const rules: ChannelRule[] = [{ repeat_seconds: 600, unless_acknowledged: true }];
  t.like(plan(rules), { repeat: { everySeconds: 600, most: 10 }, unlessAcknowledged: true, isDropped: false });
  t.is(untilOf(rules), 'delay 2026-03-28T21:30:00.000Z', 'held so that the acknowledgement is checked when it is due');
  t.deepEqual(plan(rules, { event: 'monitor.up' }), AT_ONCE);
});

for (const [title, rules, field, message] of [
  ['repeat_max alone', [{ repeat_max: 3 }], 'rules[0].repeat_max', /needs repeat_seconds/],
  ['unless_acknowledged alone', [{ unless_acknowledged: true }], 'rules[0].unless_acknowledged', /needs after_seconds/],
  [
    'after_seconds for recoveries only',
    [{ events: ['monitor.up'], after_seconds: 5 }],
    'rules[0].after_seconds',
    /never takes effect/,
  ],
  [
    'an unknown time zone',
    [{}, { quiet: { timezone: 'Mars/Base', hours: '24/7', mode: 'defer' } }],
    'rules[1].quiet.timezone',
    /IANA/,
  ],
  [
    'invalid quiet hours',
    [{ quiet: { timezone: 'UTC', hours: 'night', mode: 'drop' } }],
    'rules[0].quiet.hours',
    /cannot be read/,
  ],
  [
    'quiet hours that cover the whole week',
    [{ quiet: { timezone: 'UTC', hours: 'Mo-Su 00:00-12:00,11:00-24:00', mode: 'drop' } }],
    'rules[0].quiet.hours',
    /must leave some time of the week/,
  ],
  [
    'quiet hours that cover the whole week across Sunday midnight',
    [{ quiet: { timezone: 'UTC', hours: 'Mo-Su 06:00-06:30, 06:30-05:59; Mo-Su 05:00-07:00', mode: 'defer' } }],
    'rules[0].quiet.hours',
    /must leave some time of the week/,
  ],
  ['a rule after one that matches everything', [{}, { tags: ['a'] }], 'rules[1]', /can never match: rules\[0\]/],
  [
    'a rule after a broader one',
    [
      { tags: ['a', 'b'], after_seconds: 5 },
      { events: ['monitor.down'], tags: ['b'] },
    ],
    'rules[1]',
    /can never match: rules\[0\]/,
  ],
] as const)
  test(`invalid rules are refused with the invalid field: ${title}`, (t) => {
    const problems = findRuleProblems(rules);
    const found = problems.find((problem) => problem.field === field);
    t.truthy(found, JSON.stringify(problems));
    t.regex(found?.message ?? '', message);
    t.true(found?.message.startsWith(field));
  });

test('rules are accepted if each matches something that earlier ones do not', (t) => {
  t.deepEqual(
    findRuleProblems([
      { events: ['monitor.down'], tags: ['a'] },
      { tags: ['a', 'b'] },
      {
        after_seconds: 900,
        unless_acknowledged: true,
        quiet: { timezone: 'UTC', hours: 'Sa-Su 00:00-24:00', mode: 'drop' },
      },
    ]),
    [],
  );
});

test('a rule is described in one sentence', (t) => {
  t.is(describeRule({}), 'On every event.');
  t.is(
    describeRule({
      events: ['monitor.down', 'monitor.degraded', 'monitor.up'],
      tags: ['env:prod', 'shop'],
      after_seconds: 900,
      repeat_seconds: 1800,
      unless_acknowledged: true,
      quiet: { timezone: 'Europe/Berlin', hours: 'Mo-Su 22:00-07:00', mode: 'drop' },
    }),
    'When down, degraded or recovered, of monitors tagged env:prod or shop, after 15 minutes, ' +
      'again every 30 minutes, up to 10 times, unless acknowledged, not during Mo-Su 22:00-07:00 (Europe/Berlin).',
  );
});
