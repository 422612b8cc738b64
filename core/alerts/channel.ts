import type { Change } from '../incidents/change.ts';
import type { MonitorTags } from '../monitors/monitor.ts';
import { eventOf, type EventState } from './event.ts';
import type { ChannelRule } from './rules.ts';
import type { WebhookFormat } from './webhook.ts';

const CHANNEL_TYPES = ['telegram', 'slack', 'webhook', 'email'] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

/** `pending` until the customer has finished connecting it; nothing is sent to it before. */
export type ChannelStatus = 'connected' | 'pending';

/** Where a tenant is notified of events, without its secrets. `createdAt` is in Unix seconds. */
export type Channel = {
  id: string;
  tenantId: string;
  type: ChannelType;
  name: string;
  enabled: boolean;
  status: ChannelStatus;
  /**
   * True: alerts for every monitor; false: only for `monitorIds` and those with `monitorTags`. Both are kept sorted
   * either way.
   */
  allMonitors: boolean;
  monitorIds: string[];
  /** Null where tags route nothing. */
  monitorTags: MonitorTags | null;
  /** Host, and port where it is not 443, of a webhook's URL; null for other types. */
  urlHost: string | null;
  /** Names of the headers that a webhook's owner adds to its deliveries, sorted; none of other types. */
  headerNames: readonly string[];
  /** What a webhook is sent; null of other types. */
  format: WebhookFormat;
  teamName: string | null;
  channelName: string | null;
  /** Where the messages of an email channel go; null for other types. */
  address: string | null;
  /** Whether it is notified when a report is made; never true of a webhook. */
  wantsReports: boolean;
  /** The zone of the weeks and months of its reports; null = UTC, which it always is of other types than email. */
  reportTimezone: string | null;
  /** Whether its alerts wait for the end of maintenance; of chats they always do. */
  followsMaintenance: boolean;
  /** Which events it is notified of, and when; null = of all, at once. */
  rules: readonly ChannelRule[] | null;
  /** Within how many seconds alerts of one cause come in one message; 0 = each by itself. */
  groupSeconds: number;
  /** Whether it is sent that a monitor is unstable instead of each of its changes. */
  summarizesFlapping: boolean;
  /**
   * Why the newest delivery came to nothing or the chat was lost or ended, as a sentence, and when (Unix seconds). Null
   * once a delivery has arrived or the chat was connected anew.
   */
  lastError: { text: string; at: number } | null;
  createdAt: number;
};

/**
 * What a chat sent to the bot, as far as it concerns channels. `start` carries the fingerprint of its connect code,
 * null where none came along; `removed`: the bot was blocked, or put out of a group; `moved`: the chat has another id
 * from now on.
 */
export type ChatUpdate =
  | { kind: 'start'; chatId: string; fingerprint: Uint8Array | null }
  | { kind: 'stop'; chatId: string }
  | { kind: 'removed'; chatId: string }
  | { kind: 'moved'; chatId: string; to: string }
  | { kind: 'other' };

/** A channel of a chat, as the chat is notified of it. */
export type ChatChannel = { name: string; allMonitors: boolean; enabled: boolean };

/** The same with what a log names it by. */
export type ConnectedChannel = ChatChannel & { id: string; tenantId: string };

/** What became of an update. `silent`: there is nothing to say, or no chat to say it to. */
export type ChatOutcome =
  | { outcome: 'connected'; chatId: string; channel: ConnectedChannel }
  | { outcome: 'connected_before'; chatId: string; channel: ChatChannel }
  | { outcome: 'code_unknown' | 'code_used' | 'code_expired'; chatId: string }
  | { outcome: 'no_code'; chatId: string; channels: readonly ChatChannel[] }
  | { outcome: 'stopped'; chatId: string; channels: readonly ChatChannel[] }
  | { outcome: 'silent' };

/**
 * Whether channels of a type are notified of a change that causes an event (D-44). Webhooks are notified of every one,
 * people on Telegram and Slack and by email of trouble and of its end, so not of a new monitor's first `up`.
 * `lastNotified` is the state that the event before announced, whatever pauses lie between; null = there was none. Of
 * an `up` a chat hears only where it was notified of the trouble itself, which is for its record to say.
 */
export function shouldNotify(type: ChannelType, change: Pick<Change, 'to'>, lastNotified: EventState | null): boolean {
  if (eventOf(change) === null) return false;
  return type === 'webhook' || change.to !== 'up' || (lastNotified !== null && lastNotified !== 'up');
}
