import type { Schemas } from '../../client/shapes.ts';
import { Badge } from '../../parts/status.tsx';
import { formatExact, Moment } from '../../parts/time.tsx';

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
