import { MINUTE_MS } from '../time.ts';
import type { ChannelType } from './channel.ts';
import type { MonitorMessage } from './envelope.ts';

/** A group that goes on and on closes this long after it was opened, in milliseconds: the next change is news. */
const LONGEST_GROUP_MS = 5 * MINUTE_MS;

/** Groups that a channel has open at a time. What has yet another cause joins one of all other causes. */
const MAX_OPEN_GROUPS = 10;

/** A Telegram message is edited this long after a change, and no more often; Telegram takes 20 calls a minute. */
const EDIT_WAIT_MS = 3000;
const EDIT_GAP_MS = 6000;

/** What cannot be edited follows no closer than this to the one before, in milliseconds. */
const FOLLOW_UP_GAP_MS = 30_000;

/** An open group: when it was opened, and when its newest message is due. Unix milliseconds. */
export type AlertGroup = { openedAtMs: number; newestDueAtMs: number };

/** What alerts of one group have in common: state and cause, such as `down timeout`. */
export function groupKeyOf({ state, detail }: Pick<MonitorMessage, 'state' | 'detail'>): string {
  return `${state} ${detail.cause ?? '-'}`;
}

/** The key under which a channel with these open groups groups an alert: beyond ten causes the rest is one. */
export function limitedGroupKey(
  key: string,
  open: Pick<ReadonlySet<string>, 'has' | 'size'> = new Set<string>(),
): string {
  return open.has(key) || open.size < MAX_OPEN_GROUPS ? key : 'other';
}

/**
 * Until when a group takes what follows (Unix milliseconds): `groupSeconds` from now, within five minutes of its start.
 */
export function groupOpenUntilMs(group: AlertGroup, groupSeconds: number, nowMs: number): number {
  return Math.min(nowMs + groupSeconds * 1000, group.openedAtMs + LONGEST_GROUP_MS);
}

/**
 * When the next message of a group is due (Unix milliseconds). Telegram's is an edit, soon; elsewhere one more message
 * comes once the group's first seconds are over, and others half a minute apart.
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
