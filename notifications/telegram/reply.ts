import { CHAT_CAPS, type ChatMessage } from '../../core/chat/message.ts';
import { buildGreeting } from '../../core/chat/notes.ts';
import { shorten } from '../../core/chat/shown-text.ts';
import type { ChatChannel, ChatOutcome } from '../../core/chat/update.ts';
import { renderTelegramMessage, type TelegramMessage } from './message.ts';

const HOW_TO_STOP = 'Write /stop to end them.';

/** Longer lists are counted. */
const MOST_NAMED = 5;

/**
 * What the chat is told after an update, as the parameters of sendMessage; null where there is nothing to say.
 * `publicUrl` is the base of links.
 */
export function replyTo(outcome: ChatOutcome, publicUrl: string): TelegramMessage | null {
  return outcome.outcome === 'silent' ? null : renderTelegramMessage(outcome.chatId, answerTo(outcome, publicUrl));
}

function answerTo(told: Exclude<ChatOutcome, { outcome: 'silent' }>, publicUrl: string): ChatMessage {
  switch (told.outcome) {
    case 'connected': {
      const { name, enabled, allMonitors } = told.channel;
      return buildGreeting({ name, enabled, allMonitors, publicUrl }, HOW_TO_STOP);
    }
    case 'connected_before':
      return note(`This chat is connected already, through the channel ${nameOf(told.channel)}. ${HOW_TO_STOP}`);
    case 'no_code':
      return note(tellChannels(told.channels));
    case 'stopped':
      return note(
        told.channels.length === 0
          ? 'No alerts arrive here.'
          : `No more alerts arrive here. ${tellDisabled(told.channels)}`,
      );
    default:
      return note(BAD_CODES[told.outcome]);
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

function tellChannels(channels: readonly ChatChannel[]): string {
  const disabled = channels.filter(({ enabled }) => !enabled);
  if (channels.length === 0)
    return 'This chat is not connected. Create a Telegram channel in Spotcheck and open the link that it shows.';
  if (disabled.length === 0) return `Alerts arrive here, through ${listOf(channels)}. ${HOW_TO_STOP}`;
  return tellDisabled(disabled);
}

function tellDisabled(channels: readonly ChatChannel[]): string {
  return `Disabled: ${listOf(channels)}. Their owner can enable them again in Spotcheck.`;
}

function note(text: string): ChatMessage {
  return { tone: 'neutral', title: 'Spotcheck', text, facts: [], link: null };
}

function listOf(channels: readonly ChatChannel[]): string {
  const named = channels.slice(0, MOST_NAMED).map(nameOf);
  const rest = channels.length - named.length;
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function nameOf({ name }: ChatChannel): string {
  return `\u201C${shorten(name, CHAT_CAPS.place)}\u201D`;
}
