import { MINUTE_MS } from '../time.ts';
import type { ChannelType } from './channel.ts';
import type { MonitorMessage } from './envelope.ts';

/** A continuing group closes this long after it was opened, in milliseconds: the next change gets a new alert. */
const LONGEST_GROUP_MS = 5 * MINUTE_MS;

/** Maximum number of open groups per channel. Any further causes share one group. */
const MAX_OPEN_GROUPS = 10;

/** A Telegram message is edited this long after a change, and no more often; Telegram allows 20 calls a minute. */
const EDIT_WAIT_MS = 3000;
const EDIT_GAP_MS = 6000;

/** Minimum gap between messages that cannot be edited, in milliseconds. */
const FOLLOW_UP_GAP_MS = 30_000;

/** An open group: when it was opened, and when its newest message is due, in Unix milliseconds. */
export type AlertGroup = { openedAtMs: number; newestDueAtMs: number };

/** Returns the key that alerts of one group share: state and cause, such as `down timeout`. */
export function groupKeyOf({ state, detail }: Pick<MonitorMessage, 'state' | 'detail'>): string {
  return `${state} ${detail.cause ?? '-'}`;
}

/**
 * Returns the key under which a channel with these open groups groups an alert: beyond ten causes all others share one.
 */
export function limitedGroupKey(
  key: string,
  open: Pick<ReadonlySet<string>, 'has' | 'size'> = new Set<string>(),
): string {
  return open.has(key) || open.size < MAX_OPEN_GROUPS ? key : 'other';
}

/**
 * Returns the end of a group's time window (Unix milliseconds): `groupSeconds` from now, within five minutes of its
 * start.
 */
export function groupOpenUntilMs(group: AlertGroup, groupSeconds: number, nowMs: number): number {
  return Math.min(nowMs + groupSeconds * 1000, group.openedAtMs + LONGEST_GROUP_MS);
}

/**
 * Returns when the next message of a group is due (Unix milliseconds). On Telegram it is an edit, soon; elsewhere one
 * more message follows the group's first seconds, and then one each half minute.
 */
export function followUpDueAtMs(
  group: AlertGroup,
  { type, groupSeconds, nowMs }: { type: ChannelType; groupSeconds: number; nowMs: number },
): number {
  if (type === 'telegram') return Math.max(nowMs + EDIT_WAIT_MS, group.newestDueAtMs + EDIT_GAP_MS);
  const firstMs = group.openedAtMs + groupSeconds * 1000;
  return group.newestDueAtMs <= group.openedAtMs
    ? Math.max(firstMs, nowMs)
    : Math.max(nowMs + groupSeconds * 1000, group.newestDueAtMs + FOLLOW_UP_GAP_MS);
}
