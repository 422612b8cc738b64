import { cleanText } from '../foreign-text.ts';
import { DAY_MS, toUnixSeconds } from '../time.ts';
import type { ChannelType } from './channel.ts';

/** Message that a channel is failing, as stored with its delivery to another channel. Times are Unix seconds. */
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

type FailingFacts = {
  channel: ChannelMessage['channel'];
  /** Failed deliveries in a row, and when the first of them failed (Unix milliseconds). */
  failures: number;
  failingSinceMs: number;
  lastError: string;
  nowMs: number;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

/** Longer names are cut: the reason is one sentence. */
const MAX_NAME = 60;

/**
 * Builds the message to an owner's other chats that a channel is failing. The service's description has no such event,
 * so webhooks do not get it.
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
    event_at: toUnixSeconds(nowMs),
    channel: { id: channel.id, name: channel.name, type: channel.type },
    state: 'failing',
    reason:
      `Alerts are not reaching the channel ${cleanText(channel.name, MAX_NAME)}: the last ${failures} ${deliveries} ` +
      'failed. It stays enabled',
    detail: { failures, failing_since: toUnixSeconds(failingSinceMs), last_error: lastError },
    url: `${publicUrl}/channels/${channel.id}`,
  };
}

/** A test message to a chat, as stored with its delivery. Times are Unix seconds. */
export type ChannelTestMessage = {
  version: '1';
  event: 'test';
  event_at: number;
  channel: ChannelMessage['channel'];
  reason: string;
  url: string;
};

/**
 * Builds the test message that an owner sends to a chat. `publicUrl` is the base of links, without a trailing slash.
 */
export function buildChannelTest({
  channel: { id, name, type },
  nowMs,
  publicUrl,
}: Pick<FailingFacts, 'channel' | 'nowMs' | 'publicUrl'>): ChannelTestMessage {
  return {
    version: '1',
    event: 'test',
    event_at: toUnixSeconds(nowMs),
    channel: { id, name, type },
    reason: 'This is a test. Alerts for this channel arrive here.',
    url: publicUrl,
  };
}

/** Number of failed deliveries in a row after which the owner's other channels are notified. */
const FAILING_AFTER_DELIVERIES = 100;

/**
 * Three days, in milliseconds: this long after the first failure without a success, the next failure notifies them,
 * too.
 */
const FAILING_AFTER_MS = 3 * DAY_MS;

/**
 * Reports whether a channel has failed often or long enough to notify its owner elsewhere. Decided after each failed
 * delivery.
 */
export function isFailing(
  { failures, failingSinceMs }: { failures: number; failingSinceMs: number },
  nowMs: number,
): boolean {
  return failures >= FAILING_AFTER_DELIVERIES || (failures > 0 && nowMs - failingSinceMs >= FAILING_AFTER_MS);
}

/**
 * Why a chat gets no more messages. It cannot be reached, a member wrote /stop in it, the bot was blocked or removed
 * there, or a reader of an email unsubscribed.
 */
export type ChannelLoss = 'lost' | 'stopped' | 'removed' | 'unsubscribed';

/**
 * Message that a chat was disconnected other than by its owner, as stored with its delivery to another one. Times are
 * Unix seconds.
 */
export type ChannelLossMessage = {
  version: '1';
  event: 'channel.disconnected';
  event_at: number;
  channel: ChannelMessage['channel'];
  state: ChannelLoss;
  reason: string;
  detail: { last_error: string };
  url: string;
};

type LossFacts = {
  channel: ChannelMessage['channel'];
  loss: ChannelLoss;
  lastError: string;
  nowMs: number;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

const REASONS = {
  lost: (name) =>
    `Alerts are not reaching the channel ${name}: its chat is unavailable. Reconnect it to receive alerts again`,
  stopped: (name) =>
    `A member sent /stop in the chat of the channel ${name}. It is disabled. Enable it in Spotcheck to receive ` +
    'alerts again',
  removed: (name) =>
    `The bot was blocked in the chat of the channel ${name}, or removed from it. Add the bot again, then enable ` +
    'the channel in Spotcheck',
  unsubscribed: (name) =>
    `A reader of the address of the channel ${name} unsubscribed. It is disabled. Confirm the address again, then ` +
    'enable the channel in Spotcheck',
} as const satisfies Record<ChannelLoss, (name: string) => string>;

/**
 * Builds the message to an owner's other chats that one of them was disconnected. The service's description has no such
 * event, so webhooks do not get it.
 */
export function buildLossMessage({ channel, loss, lastError, nowMs, publicUrl }: LossFacts): ChannelLossMessage {
  return {
    version: '1',
    event: 'channel.disconnected',
    event_at: toUnixSeconds(nowMs),
    channel: { id: channel.id, name: channel.name, type: channel.type },
    state: loss,
    reason: REASONS[loss](cleanText(channel.name, MAX_NAME)),
    detail: { last_error: lastError },
    url: `${publicUrl}/channels/${channel.id}`,
  };
}
