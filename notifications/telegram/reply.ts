import type { ChatChannel, ChatOutcome } from '../../core/alerts/channel.ts';
import { CHAT_CAPS, type ChatMessage, shorten, buildGreeting } from '../../core/alerts/chat/message.ts';
import { renderTelegramMessage, type TelegramMessage } from './message.ts';

const HOW_TO_STOP = 'Send /stop to stop alerts.';

/** Longer lists are counted. */
const MOST_NAMED = 5;

/**
 * What the chat is answered after an update, as the parameters of sendMessage; null where there is nothing to say.
 * `publicUrl` is the base of links.
 */
export function replyTo(outcome: ChatOutcome, publicUrl: string): TelegramMessage | null {
  return outcome.outcome === 'silent' ? null : renderTelegramMessage(outcome.chatId, answerTo(outcome, publicUrl));
}

function answerTo(reply: Exclude<ChatOutcome, { outcome: 'silent' }>, publicUrl: string): ChatMessage {
  switch (reply.outcome) {
    case 'connected': {
      const { name, enabled, allMonitors } = reply.channel;
      return buildGreeting({ name, enabled, allMonitors, publicUrl }, HOW_TO_STOP);
    }
    case 'connected_before':
      return buildReply(`This chat is already connected to the channel ${nameOf(reply.channel)}. ${HOW_TO_STOP}`);
    case 'no_code':
      return buildReply(describeChannels(reply.channels));
    case 'stopped':
      return buildReply(
        reply.channels.length === 0
          ? 'No alerts arrive here.'
          : `No more alerts arrive here. ${describeDisabled(reply.channels)}`,
      );
    default:
      return buildReply(BAD_CODES[reply.outcome]);
  }
}

const BAD_CODES = {
  code_unknown:
    'This connect link belongs to no channel. Create the channel again in Spotcheck and open the link that it shows.',
  code_used:
    'This connect link has been used already, and each works once. To connect this chat as well, create another ' +
    'channel in Spotcheck.',
  code_expired:
    'This connect link is more than an hour old and has expired. Create the channel again in Spotcheck and open ' +
    'the new link.',
} as const;

function describeChannels(channels: readonly ChatChannel[]): string {
  const disabled = channels.filter(({ enabled }) => !enabled);
  if (channels.length === 0)
    return 'This chat is not connected. Create a Telegram channel in Spotcheck and open the link that it shows.';
  if (disabled.length === 0) return `Alerts arrive here from ${listOf(channels)}. ${HOW_TO_STOP}`;
  return describeDisabled(disabled);
}

function describeDisabled(channels: readonly ChatChannel[]): string {
  return `Disabled: ${listOf(channels)}. Their owner can enable them again in Spotcheck.`;
}

function buildReply(text: string): ChatMessage {
  return { tone: 'neutral', title: 'Spotcheck', text, facts: [], link: null };
}

function listOf(channels: readonly ChatChannel[]): string {
  const named = channels.slice(0, MOST_NAMED).map(nameOf);
  const rest = channels.length - named.length;
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function nameOf({ name }: ChatChannel): string {
  return `\u201C${shorten(name, CHAT_CAPS.shortName)}\u201D`;
}
