import { cleanText } from '../clean-text.ts';
import type { ChannelType } from './channel.ts';

/** That a channel is failing, as it is stored with its delivery to another one. Times are Unix seconds. */
export type ChannelMessage = {
  version: '1';
  event: 'channel.failing';
  event_at: number;
  channel: { id: string; name: string; type: ChannelType };
  state: 'failing';
  reason: string;
  detail: { failures: number; failing_since: number; last_error: string };
  url: string;
};

export type FailingFacts = {
  channel: ChannelMessage['channel'];
  /** Deliveries in a row that came to nothing, and when the first of them did (Unix milliseconds). */
  failures: number;
  failingSinceMs: number;
  lastError: string;
  nowMs: number;
  /** Base of links, without a slash at its end. */
  publicUrl: string;
};

/** Longer names are cut: the reason is one sentence. */
const MAX_NAME = 60;

/**
 * The message to an owner's other chats that a channel takes no deliveries any more. The service's description knows no
 * such event, so that no webhook gets it.
 */
export function buildChannelMessage({
  channel,
  failures,
  failingSinceMs,
  lastError,
  nowMs,
  publicUrl,
}: FailingFacts): ChannelMessage {
  const deliveries = failures === 1 ? 'delivery' : 'deliveries';
  return {
    version: '1',
    event: 'channel.failing',
    event_at: Math.floor(nowMs / 1000),
    channel: { id: channel.id, name: channel.name, type: channel.type },
    state: 'failing',
    reason:
      `Alerts do not reach the channel ${cleanText(channel.name, MAX_NAME)}: its last ${failures} ${deliveries} ` +
      'failed. It stays on',
    detail: { failures, failing_since: Math.floor(failingSinceMs / 1000), last_error: lastError },
    url: `${publicUrl}/channels/${channel.id}`,
  };
}
