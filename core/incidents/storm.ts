import type { EventState } from '../alerts/event.ts';

/** A storm is more monitors of a tenant changing within this time, in milliseconds, than a chat can take one by one. */
export const STORM_WINDOW_MS = 30_000;
const MAX_SINGLE_NOTIFICATIONS = 10;

/**
 * A summary waits so long for what fails in the same breath, in milliseconds, and follows the one before no closer than
 * this.
 */
const SUMMARY_WAIT_MS = 5000;
const SUMMARY_GAP_MS = 30_000;

/** Monitors that a summary names, over all states. */
const MAX_NAMED = 10;

/** A monitor in a summary, in the state that was last reported. */
export type SummarisedMonitor = { name: string; state: EventState };

/**
 * A message about many changes: to chats in place of a flood, to any channel for a group of alerts. `event_at` is when
 * it was opened, or of alerts that waited for the end of maintenance when the first became true (Unix seconds).
 * `states` come worst first and name at most ten monitors in all; they are empty until the first attempt reads what was
 * gathered.
 */
export type SummaryMessage = {
  version: '1';
  event: 'summary';
  event_at: number;
  monitors: number;
  states: { state: EventState; monitors: number; names: string[] }[];
  /** The windows for whose end the alerts waited, at most three names; absent in a storm. */
  maintenance?: string[];
  /** Of a group of alerts of one cause: what the first of them said. */
  reason?: string;
  /** To webhooks, what this message says of each monitor, at most `MAX_GROUPED` of them. */
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

/** The most changes in one message to a webhook. */
export const MAX_GROUPED = 5000;

const WORST_FIRST = ['down', 'unknown', 'degraded', 'up'] as const satisfies readonly EventState[];

/**
 * Whether chats are notified in summaries while this many monitors of a tenant have changed within `STORM_WINDOW_MS`.
 */
export function isStorm(changedMonitors: number): boolean {
  return changedMonitors > MAX_SINGLE_NOTIFICATIONS;
}

/**
 * When a summary that is opened now is sent (Unix milliseconds); `lastDueAtMs` is when the channel's last one was due,
 * null = there was none.
 */
export function summaryDueAtMs(openedAtMs: number, lastDueAtMs: number | null): number {
  return Math.max(openedAtMs + SUMMARY_WAIT_MS, (lastDueAtMs ?? 0) + SUMMARY_GAP_MS);
}

/**
 * When a summary of alerts that waited for the end of maintenance is sent (Unix milliseconds). At once, for what failed
 * with them is there already, and no closer to the one before than any other.
 */
export function releasedSummaryDueAtMs(nowMs: number, lastDueAtMs: number | null): number {
  return Math.max(nowMs, (lastDueAtMs ?? 0) + SUMMARY_GAP_MS);
}

/** The contents that a summary is opened with; `publicUrl` is the base of links, without a slash at its end. */
export type Opening = { openedAtMs: number; publicUrl: string; maintenance?: readonly string[]; reason?: string };

/** Windows of maintenance that a summary names. */
const MAX_WINDOWS = 3;

/** A summary that nothing has been gathered for yet. */
export function openSummary({ openedAtMs, publicUrl, maintenance = [], reason }: Opening): SummaryMessage {
  return {
    version: '1',
    event: 'summary',
    event_at: Math.floor(openedAtMs / 1000),
    monitors: 0,
    states: [],
    ...(maintenance.length > 0 && { maintenance: maintenance.slice(0, MAX_WINDOWS) }),
    ...(reason !== undefined && { reason }),
    url: `${publicUrl}/monitors`,
  };
}

/** The summary with what was gathered for it, each monitor once; names in the order given. */
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
