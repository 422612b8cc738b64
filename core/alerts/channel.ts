import type { Change } from '../incidents/change.ts';
import type { MonitorTags } from '../monitors/monitor.ts';
import { eventOf, type EventState } from './event.ts';
import type { ChannelRule } from './rules.ts';

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

/** Headers that an owner adds to the deliveries of a webhook, by name as it was written; values are secret. */
export type WebhookHeaders = Readonly<Record<string, string>>;

/** A change of them: null removes a header, others stay. */
export type WebhookHeadersChange = Readonly<Record<string, string | null>>;

/** Most headers of one webhook. */
export const MOST_WEBHOOK_HEADERS = 20;

/** What deliveries carry themselves, or what decides where a request goes and where it ends. */
const RESERVED = [
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept-encoding|user-agent)$/i,
  /^(?:proxy|content|webhook|x-service)-/i,
];

/** Merges a change into the stored headers; a name replaces itself in any case. */
export function mergeWebhookHeaders(stored: WebhookHeaders, change: WebhookHeadersChange): WebhookHeaders {
  const changed = new Set(Object.keys(change).map((name) => name.toLowerCase()));
  const kept = Object.entries(stored).filter(([name]) => !changed.has(name.toLowerCase()));
  const sent = Object.entries(change).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return Object.fromEntries([...kept, ...sent]);
}

/** What is wrong with the names of headers that are to be stored, as a sentence about `headers`; null if nothing. */
export function findHeadersProblem(change: WebhookHeadersChange): string | null {
  const known = new Set<string>();
  for (const name of Object.keys(change)) {
    if (RESERVED.some((reserved) => reserved.test(name)))
      return `headers.${name} cannot be set: deliveries set this header themselves`;
    if (known.has(name.toLowerCase())) return `headers must name each header once, ignoring case, got ${name} twice`;
    known.add(name.toLowerCase());
  }
  return null;
}

/** Receivers whose own format a webhook can have, by the names that the API gives them. */
export const WEBHOOK_PRESETS = [
  'alertmanager',
  'discord',
  'google_chat',
  'gotify',
  'grafana_oncall',
  'mattermost',
  'ntfy',
  'opsgenie',
  'pagerduty',
  'teams',
] as const;
export type WebhookPreset = (typeof WEBHOOK_PRESETS)[number];

/** A request of an owner's own: `body` is a Liquid template over the envelope. */
export type WebhookTemplate = Readonly<{ method: 'POST' | 'PUT' | 'PATCH'; contentType: string; body: string }>;

/** What a webhook is sent; null = the signed envelope. */
export type WebhookFormat = Readonly<{ preset: WebhookPreset }> | Readonly<{ template: WebhookTemplate }> | null;

/** A format in the fields of the API; none where it is the signed envelope. */
export function formatFields(format: WebhookFormat) {
  if (format === null) return {};
  if ('preset' in format) return { preset: format.preset };
  const { method, contentType, body } = format.template;
  return { template: { method, content_type: contentType, body } };
}

/** The most characters of a template, and the most bytes that it may render. */
export const MOST_TEMPLATE_LENGTH = 16_384;
export const MOST_RENDERED_BYTES = 262_144;

/** Receivers that keep an alert open until it is resolved: for them a lost resolve is worse than a late one. */
export const STATEFUL_PRESETS: readonly WebhookPreset[] = ['alertmanager', 'grafana_oncall', 'opsgenie', 'pagerduty'];

/** Whether a receiver keeps alerts open until they are resolved. */
export function isStateful(format: WebhookFormat): boolean {
  return format !== null && 'preset' in format && STATEFUL_PRESETS.includes(format.preset);
}

/** Whether a template renders JSON, as its content type says. */
export function isJson({ contentType }: WebhookTemplate): boolean {
  return /^[^;]*[/+]json\s*(?:;|$)/i.test(contentType);
}
