import type { Problem } from '../input.ts';
import { readServiceHours } from '../statistics/service-hours.ts';
import type { ServiceCalendar } from '../statistics/service-sla.ts';
import { readNamedZone } from '../time-zones.ts';
import { DAY_MS, formatDuration } from '../time.ts';
import type { MonitorEvent } from './event.ts';
import type { Hold } from './hold.ts';

/**
 * Which events a channel is notified of, and when (D-507), as it is stored and sent. What is left out narrows nothing:
 * all events, all monitors, at once, once, acknowledged or not, at any hour.
 */
export type ChannelRule = {
  events?: readonly MonitorEvent[];
  /** Monitors that have any of these. */
  tags?: readonly string[];
  /** Trouble is sent once it has lasted so long. */
  after_seconds?: number;
  /** While trouble lasts it is sent again this often, `repeat_max` times at most. */
  repeat_seconds?: number;
  repeat_max?: number;
  /** An acknowledged incident is not sent by this rule any more. */
  unless_acknowledged?: boolean;
  quiet?: QuietHours;
};

type QuietHours = { timezone: string; hours: string; mode: 'defer' | 'drop' };

/** The most rules of a channel. */
export const MAX_RULES = 10;

/** Reminders of a rule with `repeat_seconds` that does not say how many. */
const DEFAULT_REPEATS = 10;

/** An event of a monitor on its way to a channel. Moments in Unix milliseconds. */
export type PlannedEvent = {
  event: MonitorEvent;
  tags: readonly string[];
  nowMs: number;
  /** Null where it belongs to no incident. */
  incidentStartedAtMs: number | null;
};

/** What a rule says of an event. */
export type DeliveryPlan = {
  /** What it waits for; null = it is sent at once. */
  hold: Hold | null;
  /** Quiet hours drop it: it is recorded and not sent. */
  isDropped: boolean;
  unlessAcknowledged: boolean;
  repeat: { everySeconds: number; most: number; quiet: QuietHours | null } | null;
};

/** What happens where a channel has no rules. */
export const AT_ONCE: DeliveryPlan = { hold: null, isDropped: false, unlessAcknowledged: false, repeat: null };

/** How far ahead quiet hours are known: the longest delay and the longest quiet time, which a week has an end of. */
export const QUIET_AHEAD_MS = 9 * DAY_MS;

/**
 * Plans the delivery of an event by the first rule that it matches; null where it matches none. `calendar` covers
 * `QUIET_AHEAD_MS` from now on. The end of trouble is never delayed or dropped, and sent after quiet hours.
 */
export function planDelivery(
  rules: readonly ChannelRule[] | null,
  event: PlannedEvent,
  calendar: ServiceCalendar,
): DeliveryPlan | null {
  if (rules === null) return AT_ONCE;
  const rule = rules.find((each) => matches(each, event));
  if (rule === undefined) return null;
  const isTrouble = event.event !== 'monitor.up';
  const { nowMs, incidentStartedAtMs } = event;
  const afterMs = isTrouble ? (rule.after_seconds ?? 0) * 1000 : 0;
  const readyAtMs = Math.max(nowMs, (incidentStartedAtMs ?? nowMs) + afterMs);
  const quietUntilMs = quietUntil(rule.quiet ?? null, readyAtMs, calendar);
  const unlessAcknowledged = isTrouble && rule.unless_acknowledged === true;
  return {
    hold:
      quietUntilMs !== null
        ? holdFor('quiet_hours', quietUntilMs)
        : readyAtMs > nowMs || unlessAcknowledged
          ? holdFor('delay', readyAtMs)
          : null,
    isDropped: isTrouble && quietUntilMs !== null && rule.quiet?.mode === 'drop',
    unlessAcknowledged,
    repeat:
      isTrouble && rule.repeat_seconds !== undefined
        ? { everySeconds: rule.repeat_seconds, most: rule.repeat_max ?? DEFAULT_REPEATS, quiet: rule.quiet ?? null }
        : null,
  };
}

function matches({ events, tags }: ChannelRule, event: Pick<PlannedEvent, 'event' | 'tags'>): boolean {
  return (
    (events === undefined || events.includes(event.event)) &&
    (tags === undefined || tags.some((tag) => event.tags.includes(tag)))
  );
}

/** The quiet hours of the rule that an event matches; null = none. */
export function quietOf(
  rules: readonly ChannelRule[] | null,
  event: Pick<PlannedEvent, 'event' | 'tags'>,
): QuietHours | null {
  return rules?.find((each) => matches(each, event))?.quiet ?? null;
}

/**
 * When a reminder is due outside quiet hours, in Unix milliseconds. It is sent at their end, or, where they drop, at
 * the first of its moments after them. `calendar` covers `QUIET_AHEAD_MS` from now on.
 */
export function reminderDueAtMs(
  { quiet, everySeconds }: { quiet: QuietHours | null; everySeconds: number },
  dueAtMs: number,
  calendar: ServiceCalendar,
): number {
  const everyMs = everySeconds * 1000;
  for (let atMs = dueAtMs; ;) {
    const untilMs = quietUntil(quiet, atMs, calendar);
    if (untilMs === null) return atMs;
    if (quiet?.mode === 'defer') return untilMs;
    atMs += Math.ceil((untilMs - atMs) / everyMs) * everyMs;
  }
}

function quietUntil(quiet: QuietHours | null, atMs: number, calendar: ServiceCalendar): number | null {
  if (quiet === null) return null;
  const stretch = calendar.stretchesOf(quiet).find(({ startMs, endMs }) => startMs <= atMs && atMs < endMs);
  return stretch?.endMs ?? null;
}

function holdFor(reason: 'delay' | 'quiet_hours', untilMs: number): Hold {
  return { reason, untilMs, occurrenceNo: null, heldBy: null };
}

/** Of two holds the one that ends later. */
export function longerHold(one: Hold | null, other: Hold | null): Hold | null {
  if (one === null || other === null) return one ?? other;
  return other.untilMs > one.untilMs ? other : one;
}

/** Finds what is wrong with rules of the right shape: what never takes effect, and what cannot be read. */
export function findRuleProblems(rules: readonly ChannelRule[]): Problem[] {
  return rules.flatMap((rule, index) => {
    const field = `rules[${index}]`;
    const found = [...findOwnProblems(rule), ...findShadow(rules, index)];
    return found.map(({ name, message }) => {
      const path = name === '' ? field : `${field}.${name}`;
      return { field: path, message: `${path} ${message}` };
    });
  });
}

type RuleProblem = { name: string; message: string };

function findOwnProblems({ quiet, ...rule }: ChannelRule): RuleProblem[] {
  const problems: RuleProblem[] = [];
  if (rule.repeat_max !== undefined && rule.repeat_seconds === undefined)
    problems.push({ name: 'repeat_max', message: 'needs repeat_seconds, which says how often it is repeated' });
  const isUsed = rule.after_seconds !== undefined || rule.repeat_seconds !== undefined;
  if (rule.unless_acknowledged === true && !isUsed)
    problems.push({
      name: 'unless_acknowledged',
      message: 'needs after_seconds or repeat_seconds: what is sent at once cannot have been acknowledged',
    });
  const isTrouble = rule.events === undefined || rule.events.some((event) => event !== 'monitor.up');
  for (const name of ['after_seconds', 'repeat_seconds'] as const)
    if (!isTrouble && rule[name] !== undefined)
      problems.push({ name, message: 'never takes effect, because the only event of the rule is monitor.up' });
  return quiet === undefined ? problems : [...problems, ...findQuietProblems(quiet)];
}

function findQuietProblems({ timezone, hours: text }: NonNullable<ChannelRule['quiet']>): RuleProblem[] {
  const problems: RuleProblem[] = [];
  const zone = readNamedZone('', timezone);
  if (!zone.ok) problems.push({ name: 'quiet.timezone', message: zone.message.trim() });
  const hours = readServiceHours(text);
  if (!hours.ok) problems.push({ name: 'quiet.hours', message: hours.problem });
  else if (coversWeek(hours.hours))
    problems.push({ name: 'quiet.hours', message: 'must leave some time of the week: nothing would ever be sent' });
  return problems;
}

/** Whether no minute of a week is left. */
function coversWeek(hours: readonly (readonly { fromMinute: number; toMinute: number }[])[]): boolean {
  const day = 1440;
  const spans = hours.flatMap((ofDay, index) =>
    // Sunday's hours that end on Monday belong to the beginning of the week, too.
    ofDay.flatMap(({ fromMinute, toMinute }) => [
      { from: index * day + fromMinute, to: index * day + toMinute },
      { from: (index - 7) * day + fromMinute, to: (index - 7) * day + toMinute },
    ]),
  );
  let reached = 0;
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from))
    if (from <= reached) reached = Math.max(reached, to);
  return reached >= 7 * day;
}

/** A rule is never reached where one before it takes all that it would. */
function findShadow(rules: readonly ChannelRule[], index: number): RuleProblem[] {
  const rule = rules[index];
  const earlier = rules.slice(0, index).findIndex((each) => rule !== undefined && takesAll(each, rule));
  return earlier === -1
    ? []
    : [{ name: '', message: `can never match: rules[${earlier}] takes every event that it would, so put it first` }];
}

function takesAll(earlier: ChannelRule, later: ChannelRule): boolean {
  const includes = (wide: readonly string[] | undefined, narrow: readonly string[] | undefined) =>
    wide === undefined || (narrow !== undefined && narrow.every((each) => wide.includes(each)));
  return includes(earlier.events, later.events) && includes(earlier.tags, later.tags);
}

const EVENT_WORDS = {
  'monitor.down': 'down',
  'monitor.degraded': 'degraded',
  'monitor.unknown': 'unknown',
  'monitor.up': 'recovered',
} as const satisfies Record<MonitorEvent, string>;

/** A rule as a sentence for people, such as `When down, of prod, after 15 minutes, unless acknowledged.` */
export function describeRule(rule: ChannelRule): string {
  const { events, tags, after_seconds: after = 0, repeat_seconds: every, repeat_max: most, quiet } = rule;
  const parts = [
    events === undefined
      ? 'On every event'
      : `When ${listWords(
          events.map((event) => EVENT_WORDS[event]),
          'or',
        )}`,
    ...(tags === undefined ? [] : [`of monitors tagged ${listWords(tags, 'or')}`]),
    ...(after === 0 ? [] : [`after ${formatDuration(after)}`]),
    ...(every === undefined ? [] : [`again every ${formatDuration(every)}, up to ${most ?? DEFAULT_REPEATS} times`]),
    ...(rule.unless_acknowledged === true ? ['unless acknowledged'] : []),
    ...(quiet === undefined
      ? []
      : [`${quiet.mode === 'drop' ? 'not during' : 'held during'} ${quiet.hours} (${quiet.timezone})`]),
  ];
  return `${parts.join(', ')}.`;
}

function listWords(words: readonly string[], last: string): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}
