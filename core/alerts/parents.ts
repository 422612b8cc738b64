import { tickMoment, msUntilTick } from '../checks/slots.ts';
import { isBad } from '../checks/verdict.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { DependencyMode } from '../monitors/dependencies.ts';
import type { Hold } from './hold.ts';

/** A location of a parent. Moments in Unix milliseconds. */
export type ParentSource = {
  newestAtMs: number | null;
  /** Whether its newest results are bad and contradict its vote: it is on its way to down. */
  isFailing: boolean;
  /** When it checks again before its next tick; null if it does not, or is doing so now. */
  recheckAtMs: number | null;
  /** Its slot in the schedule of a shared agent; null for private agents. */
  slot: number | null;
};

/** Present facts of a monitor on which another one depends. */
export type ParentFacts = {
  no: number;
  id: string;
  name: string;
  mode: DependencyMode;
  state: MonitorState;
  timeoutMs: number;
  intervalSeconds: number;
  /** Its locations that count; none for a monitor that is paused, or whose checks do not contact a target. */
  sources: readonly ParentSource[];
};

/**
 * Margin for delays of transport, in milliseconds: an alert waits for a parent at most a recheck, a timeout and this.
 */
const MARGIN_MS = 2000;

/** Longest wait for a check of a parent, in milliseconds: that of a recheck. */
const LONGEST_WAIT_MS = 20_000;

/**
 * Delay of alerts that join a parent's message after its state is known, in milliseconds. Without it they might be
 * claimed before that message is.
 */
export const JOINS_AFTER_MS = 1000;

/**
 * Results for which an alert waits: those newer than `sinceMs`; null if the change is no failure that parents could
 * explain.
 */
type Awaited = { sinceMs: number | null; nowMs: number };

/**
 * Returns the hold of an alert whose monitor depends on others (D-530). It is brief if one is down; if one was not
 * checked since, or is failing, it lasts at most until that one's state is decided. Null if all are well so far.
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
 * Returns until when an alert that waited and is due keeps waiting, in Unix milliseconds. A parent has failed
 * meanwhile, and its next check decides; at most a recheck and a timeout after `sinceMs`. Null if it waits no longer.
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

/** Returns the parents that are down: an alert of trouble names them, regardless of mode. */
export function findDownParents(
  change: { to: MonitorState },
  parents: readonly ParentFacts[],
): { id: string; name: string; state: 'down' }[] {
  if (!isBad(change.to)) return [];
  return parents.flatMap(({ id, name, state }) => (state === 'down' ? [{ id, name, state }] : []));
}

/**
 * Returns until when a parent is known to be well, in Unix milliseconds. It holds no alert whose `sinceMs` is at most
 * that. 0 if it is down or failing, infinite if no check can change its state.
 */
export function wellUntilMs({ state, sources }: Pick<ParentFacts, 'state' | 'sources'>): number {
  if (state === 'down') return 0;
  return Math.min(...sources.map(({ newestAtMs, isFailing }) => (isFailing ? 0 : (newestAtMs ?? 0))));
}

function isHolding({ mode, state }: ParentFacts): boolean {
  return mode === 'hold' && state === 'down';
}

/**
 * Returns when a current or imminent check decides the state of a parent (Unix milliseconds); null if none can change
 * it.
 */
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

/** Monitors behind a message's own: their count, and the names of the first. */
export type Behind = { monitors: number; names: string[]; update?: true };

/** Maximum number of names of monitors behind another in a message. */
export const MAX_BEHIND_NAMED = 10;

/** Maximum number of updates about monitors behind one that is down. */
const MAX_UPDATES = 10;

/** Wait of the first update for further failures, in milliseconds; each next wait is twice as long, up to an hour. */
const UPDATE_AFTER_MS = 30_000;
const LONGEST_UPDATE_MS = 3_600_000;

/** Returns when update `number` about the monitors behind one is sent; null after the last one. */
export function updateDueAtMs(number: number, nowMs: number): number | null {
  if (number > MAX_UPDATES) return null;
  return nowMs + Math.min(UPDATE_AFTER_MS * 2 ** (number - 1), LONGEST_UPDATE_MS);
}
