import type { ComponentChildren } from 'preact';
import { matchesTags } from '../../../core/monitors/monitor.ts';
import { api, type Schemas } from '../../client/api.ts';
import { monitors, useReload } from '../../client/live.ts';
import { Remembered, canWrite } from '../../client/session-state.ts';
import { Icon } from '../../parts/icon.tsx';
import { useLoad, type Load } from '../../parts/load.tsx';
import { Badge } from '../../parts/status.tsx';
import { Moment, clock, formatExact, formatUntil } from '../../parts/time.tsx';
import { PATHS } from '../../paths.ts';

export type Channel = Schemas['Channel'];
export type ChannelType = Schemas['ChannelType'];

/** The label of each type of channel, and a description. */
export const TYPES: Record<ChannelType, { label: string; text: string }> = {
  webhook: { label: 'Webhook', text: 'Signed JSON to an HTTPS URL' },
  telegram: { label: 'Telegram', text: 'A chat or group, via bot' },
  slack: { label: 'Slack', text: 'A channel in your workspace' },
  email: { label: 'Email', text: 'Messages to one address' },
};

/** Returns the destination of a channel: a webhook's host, a chat's name or an address; null if it is unknown. */
export function destinationOf({
  type,
  url_host: host,
  team_name: team,
  channel_name: channel,
  address,
}: Channel): string | null {
  if (type === 'webhook') return host ?? null;
  if (type === 'email') return address ?? null;
  const parts = [team, channel].filter((part) => part !== null && part !== undefined && part !== '');
  return parts.length === 0 ? null : parts.join(' · ');
}

/** Describes how a channel sends reports. */
export function reportsHint(type: ChannelType): string {
  return type === 'email'
    ? 'Sends weekly and monthly reports to the address.'
    : 'Posts weekly and monthly reports to the chat.';
}

/** A badge with the state of a channel; reasons why alerts do not arrive come first. */
export function ChannelState({ channel }: { channel: Channel }) {
  if (!channel.enabled) return <Badge>Disabled</Badge>;
  if (channel.status === 'pending') return <Badge tone="warning">{pendingLabel(channel)}</Badge>;
  if (channel.last_error !== undefined) return <Badge tone="bad">Failing</Badge>;
  return <Badge tone="good">Connected</Badge>;
}

function pendingLabel({ type, last_error: lastError }: Channel): string {
  if (lastError !== undefined) return 'Connection lost';
  return type === 'email' ? 'Waiting for confirmation' : 'Not connected yet';
}

export type DeliveryOutcome = Schemas['DeliveryOutcome'];
export type DeliveryEvent = Schemas['DeliveryEvent'];

/** Labels of events. */
export const EVENTS: Record<DeliveryEvent, string> = {
  'monitor.down': 'Down',
  'monitor.degraded': 'Degraded',
  'monitor.up': 'Up',
  'monitor.unknown': 'Unknown',
  'agent.offline': 'Agent offline',
  'agent.online': 'Agent online',
  'advisory.domain_expiry': 'Expires soon',
  'channel.failing': 'Channel failing',
  'channel.disconnected': 'Chat unavailable',
  summary: 'Digest',
  report: 'Report ready',
  test: 'Test',
};

/** Labels of outcomes. */
export const OUTCOMES: Record<DeliveryOutcome, { label: string; tone: 'plain' | 'good' | 'warning' | 'bad' }> = {
  pending: { label: 'Pending', tone: 'warning' },
  delivered: { label: 'Delivered', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  superseded: { label: 'Not sent separately', tone: 'plain' },
};

/** The label of an event, with its time if the table has no column for that; `exact` for a log of one incident. */
export function EventOf({ event, at, exact = false }: { event: DeliveryEvent; at: number; exact?: boolean }) {
  return (
    <>
      <span class="whitespace-nowrap">{EVENTS[event]}</span>
      <span class="block whitespace-nowrap text-xs font-normal text-soft @3xl:hidden">
        {exact ? formatExact(at) : <Moment at={at} />}
      </span>
    </>
  );
}

/** Reasons why an alert waits or waited, by `held_by`. */
const HOLDS: Readonly<Record<string, string>> = {
  maintenance: 'maintenance',
  mute: 'muted',
  snooze: 'snoozed',
  quiet_hours: 'quiet hours',
  delay: 'rule delay',
  parent: 'parent monitor',
  reminder: 'reminder',
  flapping: 'unstable monitor',
} satisfies Record<NonNullable<Schemas['Delivery']['held_by']>, string>;

/** Outcome of a delivery, the reason why it waits or waited, and until when. */
type DeliveryResult = {
  outcome: DeliveryOutcome;
  attempt_count: number;
  held_by?: string;
  held_by_monitor?: string;
  next_attempt_at?: number | null;
};

/** Reports whether a delivery waits for something other than its next attempt. */
export function isHeld({ outcome, attempt_count: attempts, held_by: holder }: DeliveryResult): boolean {
  return outcome === 'pending' && attempts === 0 && holder !== undefined;
}

/**
 * Returns the outcome of a delivery in a word, and the reason why it waits or waited; `why` is empty without one. An
 * unsent alert may be in a digest, in the alert of another monitor, or over: the API does not distinguish these.
 */
export function describeOutcome(delivery: DeliveryResult): { label: string; why: string } {
  const { outcome, attempt_count: attempts, held_by: holder, next_attempt_at: next = null } = delivery;
  const parent = monitors.value?.find(({ id }) => id === delivery.held_by_monitor)?.name;
  const why = parent === undefined ? (HOLDS[holder ?? ''] ?? '') : `parent ${parent}`;
  if (isHeld(delivery))
    return { label: 'Waiting', why: `${why}${next === null ? '' : `, until ${formatUntil(next)}`}` };
  if (outcome !== 'superseded') return { label: OUTCOMES[outcome].label, why: '' };
  return attempts > 0 ? { label: 'Skipped (newer event)', why: '' } : { label: OUTCOMES.superseded.label, why };
}

/**
 * A badge with the outcome of a delivery, the reason why it waits or waited, and the attempts if there were several.
 */
export function OutcomeBadge({
  delivery,
  hidesAttempts = false,
}: {
  delivery: DeliveryResult;
  hidesAttempts?: boolean;
}) {
  const { label, why } = describeOutcome(delivery);
  const { outcome, attempt_count: attempts } = delivery;
  return (
    <span class="inline-flex flex-wrap items-center gap-x-1.5">
      <Badge tone={OUTCOMES[outcome].tone}>
        {label}
        {why !== '' && ':'}
      </Badge>
      {why !== '' && <span class="text-xs text-soft">{why}</span>}
      {attempts > 1 && !hidesAttempts && <span class="whitespace-nowrap text-xs text-soft">{attempts} attempts</span>}
    </span>
  );
}

/** Reports whether a delivery changes within seconds, so that it is reloaded as soon. */
export function isUnderWay(delivery: DeliveryResult): boolean {
  const { outcome, next_attempt_at: next = null } = delivery;
  if (outcome !== 'pending') return false;
  return next === null ? !isHeld(delivery) : next <= clock.value + NEAR_SECONDS;
}

/** Time before an attempt in which it already counts as under way, in seconds. */
const NEAR_SECONDS = 30;

/** Returns the channels of the account, kept up to date. */
export function useChannels(): Load<readonly Channel[]> {
  const load = useLoad(async (signal) => (await api.get('/channels', { signal })).channels, []);
  useReload(load, ['channel']);
  return load;
}

/** Reports whether alerts go to a channel at all: it is connected and enabled. */
export function isActive({ enabled, status }: Channel): boolean {
  return enabled && status === 'connected';
}

/** Reports whether a channel gets the alerts of a monitor, by the rule of the service (`listRoutes`). */
export function isNotified(channel: Channel, { id, tags }: { id: string; tags: readonly string[] }): boolean {
  return isActive(channel) && (channel.all_monitors || channel.monitor_ids.includes(id) || isTagged(channel, tags));
}

/** Names the webhooks whose alerts are not held, while those of other channels are; `isConcerned` picks from all. */
export function namesUnheld(channels: readonly Channel[], isConcerned: (channel: Channel) => boolean): string {
  const names = channels
    .filter((channel) => channel.follows_maintenance === false && isActive(channel) && isConcerned(channel))
    .map(({ name }) => name);
  if (names.length === 0) return '';
  const rest = names.length - MAX_NAMED;
  return ` Alerts to ${names.slice(0, MAX_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''} are not held.`;
}

/** Most channels that a hint names. */
const MAX_NAMED = 3;

/** Label of `follows_maintenance`, and its meaning. */
export const FOLLOWS = {
  label: 'Wait during maintenance and mutes',
  hint: 'Also holds alerts while a parent monitor is down. If off, only the rules delay alerts.',
} as const;

/** Reports whether a channel that is not for all monitors gets the alerts of those with these tags. */
export function isTagged({ monitor_tags: wanted }: Channel, tags: readonly string[]): boolean {
  if (wanted === null) return false;
  return matchesTags(tags, wanted.any === undefined ? { all: wanted.all ?? [] } : { any: wanted.any });
}

/**
 * Whether a test alert has arrived: stored in the browser that showed it, because some tests leave no delivery record.
 */
export const testAlert = new Remembered('test-alert');

/** A warning that no channel gets alerts, with the next step; `children` names the monitors. */
export function UnnotifiedWarning({
  hasChannels = true,
  children,
}: {
  hasChannels?: boolean;
  children: ComponentChildren;
}) {
  return (
    <p class="flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded print:hidden">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span class="min-w-0">
        {children}
        {canWrite() && (
          <>
            {' '}
            <a href={hasChannels ? PATHS.channels : PATHS.channelNew} class="font-medium underline underline-offset-2">
              {hasChannels ? 'Channels' : 'New channel'}
            </a>
          </>
        )}
      </span>
    </p>
  );
}

/** Warns on a monitor's page when no channel gets its alerts; nothing until the channels (null) are loaded. */
export function UnnotifiedMonitor({
  monitor,
  channels,
}: {
  monitor: { id: string; tags: readonly string[] };
  channels: readonly Channel[] | null;
}) {
  if (channels === null || channels.some((channel) => isNotified(channel, monitor))) return null;
  return (
    <div class="mb-4">
      <UnnotifiedWarning hasChannels={channels.length > 0}>
        No channel receives alerts from this monitor.
      </UnnotifiedWarning>
    </div>
  );
}
