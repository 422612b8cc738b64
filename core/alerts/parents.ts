import { tickMoment, msUntilTick } from '../checks/slots.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { DependencyMode } from '../monitors/dependencies.ts';
import type { Hold } from './hold.ts';

/** A location of a parent. Moments in Unix milliseconds. */
export type ParentSource = {
  newestAtMs: number | null;
  /** Whether its newest results contradict what it said so far and are bad: it is on its way to be down. */
  isFailing: boolean;
  /** When it checks again before its next tick; null where it does not, or does so just now. */
  recheckAtMs: number | null;
  /** Its slot in the schedule of an agent of ours; null of customers' agents. */
  slot: number | null;
};

/** A monitor that another one depends on, as it stands. */
export type ParentFacts = {
  no: number;
  id: string;
  name: string;
  mode: DependencyMode;
  state: MonitorState;
  timeoutMs: number;
  intervalSeconds: number;
  /** Its locations that count; none of a monitor that is paused, or whose checks do not talk to a target. */
  sources: readonly ParentSource[];
};

/**
 * A recheck, a timeout and this are how long an alert waits for a parent at most, in milliseconds: for the way here.
 */
const MARGIN_MS = 2000;

/** The longest wait for a check of a parent, in milliseconds: that of a recheck. */
const LONGEST_WAIT_MS = 20_000;

/**
 * What comes in the message of a parent is due this long after that is known, in milliseconds. Else it might be
 * claimed before that message is.
 */
export const JOINS_AFTER_MS = 1000;

/** What an alert waits for: results that are newer than `sinceMs`; null where nothing failed that parents explain. */
export type Awaited = { sinceMs: number | null; nowMs: number };

/**
 * What an alert waits for where its monitor depends on others (D-530). For the moment only where one is down; where one
 * was not checked since, or is failing, until that is known at the latest. Null where all are as well as is known.
 */
export function holdForParents(parents: readonly ParentFacts[], { sinceMs, nowMs }: Awaited): Hold | null {
  const holding = parents.filter(({ mode }) => mode === 'hold');
  const down = parents.find(isHolding);
  if (down !== undefined) return holdBy(down, nowMs + JOINS_AFTER_MS);
  if (sinceMs === null) return null;
  const undecided = holding.flatMap((parent) => {
    const untilMs = decidedAtMs(parent, { sinceMs, nowMs });
    return untilMs === null ? [] : [{ parent, untilMs }];
  });
  const last = undecided.toSorted((a, b) => b.untilMs - a.untilMs)[0];
  return last === undefined ? null : holdBy(last.parent, last.untilMs);
}

/**
 * Until when an alert that waited and is due goes on waiting, in Unix milliseconds. A parent has failed meanwhile, and
 * its next check decides; a recheck and a timeout after `sinceMs` at most. Null where it waits no longer.
 */
export function extendHold(
  parents: readonly ParentFacts[],
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): number | null {
  if (parents.some(isHolding)) return null;
  const failing = parents.filter(({ sources }) => sources.some(({ isFailing }) => isFailing));
  const hold = holdForParents(failing, { sinceMs, nowMs });
  if (hold === null) return null;
  const timeoutMs = Math.max(...failing.map((parent) => parent.timeoutMs));
  const untilMs = Math.min(hold.untilMs, sinceMs + LONGEST_WAIT_MS + timeoutMs + MARGIN_MS);
  return untilMs > nowMs ? untilMs : null;
}

/** The parents that are down: an alert of trouble names them, whatever their mode. */
export function findDownParents(
  change: { to: MonitorState },
  parents: readonly ParentFacts[],
): { id: string; name: string; state: 'down' }[] {
  if (change.to !== 'down' && change.to !== 'degraded') return [];
  return parents.flatMap(({ id, name, state }) => (state === 'down' ? [{ id, name, state }] : []));
}

/** Whether all parents are known to be well, by results that are newer than `sinceMs`. */
export function areWell(parents: readonly ParentFacts[], when: { sinceMs: number; nowMs: number }): boolean {
  return holdForParents(parents, when) === null;
}

function isHolding({ mode, state }: ParentFacts): boolean {
  return mode === 'hold' && state === 'down';
}

/** Whether what a parent is can still change by a check that is under way or close; null where it cannot. */
function decidedAtMs(
  { no, sources, timeoutMs, intervalSeconds }: ParentFacts,
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): number | null {
  const awaited = sources.filter(
    ({ newestAtMs, isFailing }) => isFailing || newestAtMs === null || newestAtMs < sinceMs,
  );
  if (awaited.length === 0) return null;
  const checksAtMs = awaited.map(({ recheckAtMs, slot }) => {
    if (recheckAtMs !== null) return recheckAtMs;
    const untilTickMs = slot === null ? Infinity : msUntilTick(tickMoment({ intervalSeconds, slot }, no), nowMs);
    return untilTickMs > LONGEST_WAIT_MS ? nowMs : nowMs + untilTickMs;
  });
  const lastMs = Math.min(Math.max(nowMs, ...checksAtMs), nowMs + LONGEST_WAIT_MS);
  return lastMs + timeoutMs + MARGIN_MS;
}

function holdBy({ id }: ParentFacts, untilMs: number): Hold {
  return { reason: 'parent', untilMs, occurrenceNo: null, heldBy: id };
}

/** What a message says of monitors behind its own: how many, and the names of the first. */
export type Behind = { monitors: number; names: string[]; update?: true };

/** The most names of monitors behind another that a message has. */
export const MAX_BEHIND_NAMED = 10;

/** The most messages that say that more monitors are behind one, of one that is down. */
const MAX_UPDATES = 10;

/**
 * How long the first of those waits for what else fails, in milliseconds; each next one twice as long, for an hour at
 * most.
 */
const UPDATE_AFTER_MS = 30_000;
const LONGEST_UPDATE_MS = 3_600_000;

/** When update `number` about what is behind a monitor is sent; null where there are no more. */
export function updateDueAtMs(number: number, nowMs: number): number | null {
  if (number > MAX_UPDATES) return null;
  return nowMs + Math.min(UPDATE_AFTER_MS * 2 ** (number - 1), LONGEST_UPDATE_MS);
}
