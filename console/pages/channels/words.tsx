import type { Schemas } from '../../client/shapes.ts';
import { Badge } from '../../parts/status.tsx';
import { Moment } from '../../parts/time.tsx';

export type Channel = Schemas['Channel'];
export type ChannelType = Schemas['ChannelType'];

/** The types of channels: what each is called, and who takes it. */
export const TYPES: Record<ChannelType, { label: string; text: string }> = {
  webhook: { label: 'Webhook', text: 'Signed messages to an https address of yours' },
  telegram: { label: 'Telegram', text: 'A chat or a group, by our bot' },
  slack: { label: 'Slack', text: 'A channel of your workspace' },
};

/** Where a channel leads: a webhook's host, a chat's name; null where nothing is known of it. */
export function destinationOf({
  type,
  url_host: host,
  team_name: team,
  channel_name: channel,
}: Channel): string | null {
  if (type === 'webhook') return host ?? null;
  const parts = [team, channel].filter((part) => part !== null && part !== undefined && part !== '');
  return parts.length === 0 ? null : parts.join(' · ');
}

/** How a channel stands, in a word: what keeps alerts from arriving comes first. */
export function ChannelState({ channel }: { channel: Channel }) {
  if (!channel.enabled) return <Badge>Switched off</Badge>;
  if (channel.status === 'pending')
    return (
      <Badge tone="warning">{channel.last_error === undefined ? 'Waiting to be connected' : 'Connection lost'}</Badge>
    );
  if (channel.last_error !== undefined) return <Badge tone="bad">Failing</Badge>;
  return <Badge tone="good">Connected</Badge>;
}

export type DeliveryOutcome = Schemas['DeliveryOutcome'];
export type DeliveryEvent = Schemas['DeliveryEvent'];

/** What an event says, in a few words. */
export const EVENTS: Record<DeliveryEvent, string> = {
  'monitor.down': 'Down',
  'monitor.degraded': 'Degraded',
  'monitor.up': 'Up',
  'monitor.unknown': 'Not known',
  'agent.offline': 'Agent offline',
  'agent.online': 'Agent online',
  'advisory.domain_expiry': 'Expiry ahead',
  'channel.failing': 'Another channel fails',
  'channel.disconnected': 'Another chat is gone',
  summary: 'Summary of many',
  report: 'Report made',
};

/** What became of a delivery, in a word. */
export const OUTCOMES: Record<DeliveryOutcome, { label: string; tone: 'plain' | 'good' | 'warning' | 'bad' }> = {
  pending: { label: 'On its way', tone: 'warning' },
  delivered: { label: 'Delivered', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  superseded: { label: 'Superseded', tone: 'plain' },
};

/** What a delivery says; where there is no room for a column of its own, with when it was made. */
export function EventOf({ event, at }: { event: DeliveryEvent; at: number }) {
  return (
    <>
      <span class="md:whitespace-nowrap">{EVENTS[event]}</span>
      <span class="block whitespace-nowrap text-xs font-normal text-soft md:hidden">
        <Moment at={at} />
      </span>
    </>
  );
}

/** What became of a delivery; after the first attempt with how many there were. */
export function OutcomeBadge({ outcome, attempts = 1 }: { outcome: DeliveryOutcome; attempts?: number }) {
  const { label, tone } = OUTCOMES[outcome];
  return (
    <span class="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Badge tone={tone}>{label}</Badge>
      {attempts > 1 && <span class="text-xs text-soft">{attempts} attempts</span>}
    </span>
  );
}
