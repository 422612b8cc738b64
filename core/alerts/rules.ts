import type { Problem } from '../input.ts';
import { readServiceHours, type ServiceHours } from '../statistics/service-hours.ts';
import type { ServiceCalendar } from '../statistics/service-sla.ts';
import { readNamedZone } from '../time-zones.ts';
import { DAY_MS, formatDuration } from '../time.ts';
import type { MonitorEvent } from './event.ts';
import type { Hold } from './hold.ts';

/**
 * A channel's rule on which events notify it, and when (D-507), as stored and sent. An absent field does not restrict:
 * all events, all monitors, at once, once, acknowledged or not, at any hour.
 */
export type ChannelRule = {
  events?: readonly MonitorEvent[];
  /** Monitors that have any of these. */
  tags?: readonly string[];
  /** Trouble is sent once it has lasted this long. */
  after_seconds?: number;
  /** While trouble lasts it is sent again this often, `repeat_max` times at most. */
  repeat_seconds?: number;
  repeat_max?: number;
  /** Stops this rule's messages about an incident once it is acknowledged. */
  unless_acknowledged?: boolean;
  quiet?: QuietHours;
};

type QuietHours = { timezone: string; hours: string; mode: 'defer' | 'drop' };

/** Maximum number of rules per channel. */
export const MAX_RULES = 10;

/** Number of reminders of a rule with `repeat_seconds` but without `repeat_max`. */
const DEFAULT_REPEATS = 10;

/** An event of a monitor on its way to a channel. Moments in Unix milliseconds. */
export type PlannedEvent = {
  event: MonitorEvent;
  tags: readonly string[];
  nowMs: number;
  /** Null if it belongs to no incident. */
  incidentStartedAtMs: number | null;
};

/** Result of applying a rule to an event. */
export type DeliveryPlan = {
  /** Its hold; null = it is sent at once. */
  hold: Hold | null;
  /** Dropped by quiet hours: it is recorded and not sent. */
  isDropped: boolean;
  unlessAcknowledged: boolean;
  repeat: Repeat | null;
};

/** How often trouble is sent again, how many times at most, and the quiet hours of its reminders. */
type Repeat = { everySeconds: number; most: number; quiet: QuietHours | null };

/** Plan of a channel without rules. */
export const AT_ONCE: DeliveryPlan = { hold: null, isDropped: false, unlessAcknowledged: false, repeat: null };

/**
 * Horizon of quiet hours: the longest delay, which is a day, plus the longest quiet time. Every week has some other
 * time, but daylight saving may skip that of one week.
 */
export const QUIET_AHEAD_MS = 16 * DAY_MS;

/**
 * Plans the delivery of an event by the first matching rule; null if none matches. `calendar` covers `QUIET_AHEAD_MS`
 * from now on. The end of trouble is never delayed or dropped, and is sent after quiet hours.
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
    repeat: repeatBy(rule, event),
  };
}

function repeatBy(rule: ChannelRule, { event }: Pick<PlannedEvent, 'event'>): Repeat | null {
  const { repeat_seconds: everySeconds, repeat_max: most = DEFAULT_REPEATS, quiet = null } = rule;
  return event === 'monitor.up' || everySeconds === undefined ? null : { everySeconds, most, quiet };
}

function matches({ events, tags }: ChannelRule, event: Pick<PlannedEvent, 'event' | 'tags'>): boolean {
  return (
    (events === undefined || events.includes(event.event)) &&
    (tags === undefined || tags.some((tag) => event.tags.includes(tag)))
  );
}

/** Returns the reminders of the first rule that matches an event; null = none. */
export function repeatOf(
  rules: readonly ChannelRule[] | null,
  event: Pick<PlannedEvent, 'event' | 'tags'>,
): Repeat | null {
  const rule = rules?.find((each) => matches(each, event));
  return rule === undefined ? null : repeatBy(rule, event);
}

/**
 * Returns when a reminder is due outside quiet hours, in Unix milliseconds. Quiet hours either defer it to their end
 * or, with `drop`, to its first regular time after them. `calendar` covers `QUIET_AHEAD_MS` from now on.
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

/**
 * Plans a reminder that would be due at a time (Unix milliseconds) but for quiet hours, and for the snooze of its
 * incident. If it waits for the snooze, `heldBy` is when it is due without it.
 */
export function planReminder(
  repeat: Repeat,
  { atMs, snoozedUntilMs }: { atMs: number; snoozedUntilMs: number | null },
  calendar: ServiceCalendar,
): { dueAtMs: number; reason: 'reminder' | 'snooze'; heldBy: string | null } {
  const dueAtMs = reminderDueAtMs(repeat, atMs, calendar);
  return snoozedUntilMs === null || snoozedUntilMs <= atMs
    ? { dueAtMs, reason: 'reminder', heldBy: null }
    : { dueAtMs: reminderDueAtMs(repeat, snoozedUntilMs, calendar), reason: 'snooze', heldBy: String(dueAtMs) };
}

function quietUntil(quiet: QuietHours | null, atMs: number, calendar: ServiceCalendar): number | null {
  if (quiet === null) return null;
  const stretch = calendar.stretchesOf(quiet).find(({ startMs, endMs }) => startMs <= atMs && atMs < endMs);
  return stretch?.endMs ?? null;
}

function holdFor(reason: 'delay' | 'quiet_hours', untilMs: number): Hold {
  return { reason, untilMs, occurrenceNo: null, heldBy: null };
}

/** Returns the hold that ends later. */
export function longerHold(one: Hold | null, other: Hold | null): Hold | null {
  if (one === null || other === null) return one ?? other;
  return other.untilMs > one.untilMs ? other : one;
}

/** Finds faults in rules of the right shape: settings that never take effect, and invalid ones. */
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

function findQuietProblems({ timezone, hours: text }: QuietHours): RuleProblem[] {
  const problems: RuleProblem[] = [];
  const zone = readNamedZone('', timezone);
  if (!zone.ok) problems.push({ name: 'quiet.timezone', message: zone.message.trim() });
  const hours = readServiceHours(text);
  if (!hours.ok) problems.push({ name: 'quiet.hours', message: hours.problem });
  else if (coversWeek(hours.hours))
    problems.push({ name: 'quiet.hours', message: 'must leave some time of the week: nothing would ever be sent' });
  return problems;
}

/** Reports whether the hours cover every minute of the week. */
function coversWeek(hours: ServiceHours): boolean {
  const day = 1440;
  const spans = hours.flatMap((ofDay, index) =>
    // Sunday's hours that end on Monday also belong to the beginning of the week.
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

/** A rule is never reached if an earlier one matches all of its events. */
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

/** Describes a rule in a sentence for people, such as `When down, of monitors tagged prod, after 15 minutes.` */
export function describeRule(rule: ChannelRule): string {
  const { events, tags, after_seconds: after = 0, repeat_seconds: every, repeat_max: most, quiet } = rule;
  const parts = [
    events === undefined ? 'On every event' : `When ${listAlternatives(events.map((event) => EVENT_WORDS[event]))}`,
    ...(tags === undefined ? [] : [`of monitors tagged ${listAlternatives(tags)}`]),
    ...(after === 0 ? [] : [`after ${formatDuration(after)}`]),
    ...(every === undefined ? [] : [`again every ${formatDuration(every)}, up to ${most ?? DEFAULT_REPEATS} times`]),
    ...(rule.unless_acknowledged === true ? ['unless acknowledged'] : []),
    ...(quiet === undefined
      ? []
      : [`${quiet.mode === 'drop' ? 'not during' : 'held during'} ${quiet.hours} (${quiet.timezone})`]),
  ];
  return `${parts.join(', ')}.`;
}

function listAlternatives(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
