import type { EventState } from '../alerts/event.ts';
import { toUnixSeconds } from '../time.ts';

/** Window of a storm, in milliseconds: more monitors of a tenant change within it than a chat can take one by one. */
export const STORM_WINDOW_MS = 30_000;
const MAX_SINGLE_NOTIFICATIONS = 10;

/** Wait of a summary for simultaneous failures, and minimum gap after the one before, in milliseconds. */
const SUMMARY_WAIT_MS = 5000;
const SUMMARY_GAP_MS = 30_000;

/** Maximum number of monitors named in a summary, over all states. */
const MAX_NAMED = 10;

/** A monitor in a summary, in its last reported state. */
export type SummarisedMonitor = { name: string; state: EventState };

/**
 * A message about many changes: to chats in place of a flood, to any channel for a group of alerts. `event_at` is when
 * it was opened or, for alerts that waited for the end of maintenance, when the first became true (Unix seconds).
 * `states` come worst first and name at most ten monitors in all; they are empty until the first attempt reads the
 * gathered changes.
 */
export type SummaryMessage = {
  version: '1';
  event: 'summary';
  event_at: number;
  monitors: number;
  states: { state: EventState; monitors: number; names: string[] }[];
  /** Windows whose end the alerts waited for, at most three names; absent in a storm. */
  maintenance?: string[];
  /** For a group of alerts with one cause: the reason of the first. */
  reason?: string;
  /** For webhooks, the change of each monitor in this message, at most `MAX_GROUPED`. */
  changes?: GroupedChange[];
  url: string;
};

/** The newest change of one monitor in a message to a webhook; `event_at` in Unix seconds. */
export type GroupedChange = {
  monitor: { id: string; name: string };
  state: EventState;
  sequence: number;
  event_at: number;
};

/** Maximum number of changes in one message to a webhook. */
export const MAX_GROUPED = 5000;

const WORST_FIRST = ['down', 'unknown', 'degraded', 'up'] as const satisfies readonly EventState[];

/** Reports whether chats get summaries while this many monitors of a tenant have changed within `STORM_WINDOW_MS`. */
export function isStorm(changedMonitors: number): boolean {
  return changedMonitors > MAX_SINGLE_NOTIFICATIONS;
}

/**
 * Returns when a summary that is opened now is sent (Unix milliseconds). `lastDueAtMs` is the due time of the channel's
 * last one, null = there was none.
 */
export function summaryDueAtMs(openedAtMs: number, lastDueAtMs: number | null): number {
  return Math.max(openedAtMs + SUMMARY_WAIT_MS, (lastDueAtMs ?? 0) + SUMMARY_GAP_MS);
}

/**
 * Returns when a summary of alerts that waited for the end of maintenance is sent (Unix milliseconds). At once, because
 * simultaneous failures are already in it, but with the usual gap after the one before.
 */
export function releasedSummaryDueAtMs(nowMs: number, lastDueAtMs: number | null): number {
  return Math.max(nowMs, (lastDueAtMs ?? 0) + SUMMARY_GAP_MS);
}

/** Initial contents of a summary; `publicUrl` is the base of links, without a trailing slash. */
export type Opening = { openedAtMs: number; publicUrl: string; maintenance?: readonly string[]; reason?: string };

/** Maximum number of maintenance windows named in a summary. */
const MAX_WINDOWS = 3;

/** Opens a summary without any changes yet. */
export function openSummary({ openedAtMs, publicUrl, maintenance = [], reason }: Opening): SummaryMessage {
  return {
    version: '1',
    event: 'summary',
    event_at: toUnixSeconds(openedAtMs),
    monitors: 0,
    states: [],
    ...(maintenance.length > 0 && { maintenance: maintenance.slice(0, MAX_WINDOWS) }),
    ...(reason !== undefined && { reason }),
    url: `${publicUrl}/monitors`,
  };
}

/** Fills a summary with the gathered monitors, each one once; names in the given order. */
export function fillSummary(summary: SummaryMessage, gathered: readonly SummarisedMonitor[]): SummaryMessage {
  const byState = Map.groupBy(gathered, ({ state }) => state);
  let unnamed = MAX_NAMED;
  const states = WORST_FIRST.flatMap((state) => {
    const monitors = byState.get(state) ?? [];
    const names = monitors.slice(0, unnamed).map(({ name }) => name);
    unnamed -= names.length;
    return monitors.length === 0 ? [] : [{ state, monitors: monitors.length, names }];
  });
  return { ...summary, monitors: gathered.length, states };
}
