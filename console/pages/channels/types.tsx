import type { Schemas } from '../../client/api.ts';
import { Badge } from '../../parts/status.tsx';

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
