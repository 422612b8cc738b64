import type { ComponentChildren } from 'preact';
import { matchesTags } from '../../../core/monitors/monitor.ts';
import { api, type Schemas } from '../../client/api.ts';
import { useReload } from '../../client/live.ts';
import { Remembered, canWrite } from '../../client/session-state.ts';
import { Icon } from '../../parts/icon.tsx';
import { useLoad, type Load } from '../../parts/load.tsx';
import { Badge } from '../../parts/status.tsx';
import { Moment, formatExact } from '../../parts/time.tsx';
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

/** The destination of a channel: a webhook's host, a chat's name or an address; null if it is unknown. */
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

/** What a channel does with reports. */
export function reportsHint(type: ChannelType): string {
  return type === 'email'
    ? 'Sends weekly and monthly reports to the address.'
    : 'Posts weekly and monthly reports to the chat.';
}

/** A badge with the state of a channel; what keeps alerts from arriving comes first. */
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
  superseded: { label: 'Skipped (newer event)', tone: 'plain' },
};

/** The label of an event, with its time where the table has no column for it; `exact` for a log of one incident. */
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

/** A badge with the outcome of a delivery, and the number of attempts if there were several. */
export function OutcomeBadge({ outcome, attempts = 1 }: { outcome: DeliveryOutcome; attempts?: number }) {
  const { label, tone } = OUTCOMES[outcome];
  return (
    <span class="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Badge tone={tone}>{label}</Badge>
      {attempts > 1 && <span class="text-xs text-soft">{attempts} attempts</span>}
    </span>
  );
}

/** The channels of the account, kept up to date. */
export function useChannels(): Load<readonly Channel[]> {
  const load = useLoad(async (signal) => (await api.get('/channels', { signal })).channels, []);
  useReload(load, ['channel']);
  return load;
}

/** Whether alerts go to a channel at all: it is connected and enabled. */
export function isActive({ enabled, status }: Channel): boolean {
  return enabled && status === 'connected';
}

/** Whether a channel gets the alerts of a monitor, by the rule of the service (`listRoutes`). */
export function isNotified(channel: Channel, { id, tags }: { id: string; tags: readonly string[] }): boolean {
  return isActive(channel) && (channel.all_monitors || channel.monitor_ids.includes(id) || isTagged(channel, tags));
}

/** Whether a channel that is not for all monitors gets the alerts of those with these tags. */
export function isTagged({ monitor_tags: wanted }: Channel, tags: readonly string[]): boolean {
  if (wanted === null) return false;
  return matchesTags(tags, wanted.any === undefined ? { all: wanted.all ?? [] } : { any: wanted.any });
}

/** That a test alert has arrived: remembered where it was seen, for what is tested is sent beside the record. */
export const testAlert = new Remembered('test-alert');

/** A warning that no channel gets alerts, with the next step; `children` says which. */
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

/** Warns on a monitor's page when no channel gets its alerts; nothing where the channels (null) are not known. */
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
