import type { Change } from '../incidents/change.ts';
import type { MonitorTags } from '../monitors/monitor.ts';
import { DAY_SECONDS } from '../time.ts';
import { eventOf, type EventState } from './event.ts';
import type { ChannelRule } from './rules.ts';
import type { WebhookFormat } from './webhook.ts';

const CHANNEL_TYPES = ['telegram', 'slack', 'webhook', 'email'] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

/** `pending` until the customer has finished connecting it; it gets no messages before. */
export type ChannelStatus = 'connected' | 'pending';

/**
 * Lifetimes of the codes that connect channels, in seconds: of a chat's link (D-55), and of an email's, because mail
 * may wait at a server.
 */
export const CHAT_LINK_SECONDS = 3600;
export const CONFIRMATION_SECONDS = DAY_SECONDS;

/** A channel, without its secrets. `createdAt` is in Unix seconds. */
export type Channel = {
  id: string;
  tenantId: string;
  type: ChannelType;
  name: string;
  enabled: boolean;
  status: ChannelStatus;
  /**
   * True: alerts for every monitor; false: only for `monitorIds` and monitors with `monitorTags`. Both are stored
   * sorted either way.
   */
  allMonitors: boolean;
  monitorIds: string[];
  /** Null without routing by tags. */
  monitorTags: MonitorTags | null;
  /** Host of a webhook's URL, with the port if it is not 443; null for other types. */
  urlHost: string | null;
  /** Names of the headers that a webhook's owner adds to its deliveries, sorted; empty for other types. */
  headerNames: readonly string[];
  /** Format of a webhook's deliveries; null for other types. */
  format: WebhookFormat;
  teamName: string | null;
  channelName: string | null;
  /** Recipient address of an email channel; null for other types. */
  address: string | null;
  /** Whether it is notified when a report is made; never true for a webhook. */
  wantsReports: boolean;
  /** Zone of the weeks and months of its reports; null = UTC, as always for types other than email. */
  reportTimezone: string | null;
  /** Whether its alerts wait for the end of maintenance; those of chats always do. */
  followsMaintenance: boolean;
  /** Which events notify it, and when; null = all, at once. */
  rules: readonly ChannelRule[] | null;
  /** Time window in which alerts with one cause share a message, in seconds; 0 = no grouping. */
  groupSeconds: number;
  /** Whether it gets summaries of an unstable monitor instead of each of its changes. */
  summarizesFlapping: boolean;
  /**
   * Why the newest delivery failed or the chat was lost or disconnected, as a sentence, and when (Unix seconds). Null
   * once a delivery has succeeded or the chat was reconnected.
   */
  lastError: { text: string; at: number } | null;
  createdAt: number;
};

/**
 * An update from a chat to the bot, as far as it concerns channels. `start` contains the fingerprint of its connect
 * code, null without one; `removed`: the bot was blocked, or removed from a group; `moved`: the chat has another id
 * from now on.
 */
export type ChatUpdate =
  | { kind: 'start'; chatId: string; fingerprint: Uint8Array | null }
  | { kind: 'stop'; chatId: string }
  | { kind: 'removed'; chatId: string }
  | { kind: 'moved'; chatId: string; to: string }
  | { kind: 'other' };

/** A channel of a chat, as described to the chat. */
export type ChatChannel = { name: string; allMonitors: boolean; enabled: boolean };

/** The same with the ids for the log. */
export type ConnectedChannel = ChatChannel & { id: string; tenantId: string };

/** Outcome of an update. `silent`: there is no reply to send, or no chat to send it to. */
export type ChatOutcome =
  | { outcome: 'connected'; chatId: string; channel: ConnectedChannel }
  | { outcome: 'code_unknown' | 'code_used' | 'code_expired'; chatId: string }
  | { outcome: 'listed'; chatId: string; channels: readonly ChatChannel[] }
  | { outcome: 'stopped'; chatId: string; channels: readonly ChatChannel[] }
  | { outcome: 'silent' };

/**
 * Reports whether a change that causes an event notifies channels of a type (D-44). Webhooks are notified of every
 * event, people on Telegram and Slack and by email only of trouble and its end, so not of a new monitor's first `up`.
 * `lastNotified` is the state of the event before, regardless of pauses in between; null = there was none. A chat gets
 * an `up` only if it was notified of the trouble itself, which its own record decides.
 */
export function shouldNotify(type: ChannelType, change: Pick<Change, 'to'>, lastNotified: EventState | null): boolean {
  if (eventOf(change) === null) return false;
  return type === 'webhook' || change.to !== 'up' || (lastNotified !== null && lastNotified !== 'up');
}
