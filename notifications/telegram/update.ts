import { hash } from 'node:crypto';
import { z } from 'zod';
import type { ChatChannel, ChatOutcome, ChatUpdate } from '../../core/alerts/channel.ts';
import { CHAT_CAPS, buildGreeting, shorten, type ChatMessage } from '../../core/alerts/chat/message.ts';
import { renderTelegramMessage, type TelegramMessage } from './sending.ts';

/** The relevant part of an update. `id` is null if there is none, and then it is not an update. */
type TelegramUpdate = { id: number | null; update: ChatUpdate };

/** The only updates that a bot subscribes to. */
export const ALLOWED_UPDATES = ['message', 'my_chat_member'] as const;

const CHAT = z.object({ id: z.int() });
const MESSAGE = z.object({ chat: CHAT, text: z.string().optional(), migrate_to_chat_id: z.int().optional() });
const MEMBERSHIP = z.object({
  chat: CHAT,
  new_chat_member: z.object({ status: z.string(), is_member: z.boolean().optional() }),
});
const UPDATE = z.object({
  update_id: z.int().nullable().catch(null),
  message: MESSAGE.optional().catch(undefined),
  my_chat_member: MEMBERSHIP.optional().catch(undefined),
});

const COMMAND = /^\/(?<name>start|stop)(?:@(?<bot>\w+))?(?:\s+(?<code>[\w-]{1,64}))?\s*$/i;

/** A command copied from a message of this service has a word joiner after its slash. */
const WORD_JOINERS = /\u2060/g;

const AWAY = new Set(['kicked', 'left']);

/**
 * Parses an update from Telegram, received by polling or webhook. Commands to other bots of a group are ignored; with a
 * null `botName`, every command counts as addressed to this bot.
 */
export function readUpdate(json: unknown, botName: string | null): TelegramUpdate {
  const { update_id: id, message, my_chat_member: membership } = UPDATE.safeParse(json).data ?? { update_id: null };
  return {
    id,
    update: (message && readMessage(message, botName)) ??
      (membership && readMembership(membership)) ?? { kind: 'other' },
  };
}

function readMessage(
  { chat, text = '', migrate_to_chat_id: movedTo }: z.infer<typeof MESSAGE>,
  botName: string | null,
): ChatUpdate | undefined {
  const chatId = String(chat.id);
  if (movedTo !== undefined) return { kind: 'moved', chatId, to: String(movedTo) };
  const { name, bot, code } = COMMAND.exec(text.replaceAll(WORD_JOINERS, ''))?.groups ?? {};
  if (name === undefined || !isForUs(bot, botName)) return undefined;
  if (name.toLowerCase() === 'stop') return { kind: 'stop', chatId };
  return { kind: 'start', chatId, fingerprint: code === undefined ? null : hash('sha256', code, 'buffer') };
}

function isForUs(addressed: string | undefined, botName: string | null): boolean {
  return (
    addressed === undefined || botName === null || addressed.toLowerCase() === botName.replace(/^@/, '').toLowerCase()
  );
}

/** Reads a membership change. A restricted bot may be in the chat or not, as `is_member` states. */
function readMembership({
  chat,
  new_chat_member: { status, is_member: isMember },
}: z.infer<typeof MEMBERSHIP>): ChatUpdate | undefined {
  return AWAY.has(status) || (status === 'restricted' && isMember === false)
    ? { kind: 'removed', chatId: String(chat.id) }
    : undefined;
}

/** Path below which Telegram delivers updates by webhook. */
export const TELEGRAM_PATH = '/telegram';

/** Header with which Telegram sends the second secret, in lower case. */
export const SECRET_HEADER = 'x-telegram-bot-api-secret-token';

/**
 * Purposes for which the webhook's two secrets are derived: one ends its path, the other is sent in a header (D-55).
 */
export const WEBHOOK_SECRETS = { path: 'telegram:webhook-path', header: 'telegram:webhook-header' } as const;

/** Reports whether Telegram can deliver updates by webhook, which requires https; otherwise they are polled. */
export function canTakeWebhooks(publicUrl: string): boolean {
  return publicUrl.startsWith('https://');
}

const HOW_TO_STOP = 'Send /stop to stop alerts.';

/** Maximum names listed; longer lists are counted. */
const MAX_NAMED = 5;

/**
 * Returns the reply to the chat after an update, as the parameters of sendMessage; null if there is none. `publicUrl`
 * is the base of links.
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
    case 'listed':
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
  const named = channels.slice(0, MAX_NAMED).map(nameOf);
  const rest = channels.length - named.length;
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function nameOf({ name }: ChatChannel): string {
  return `\u201C${shorten(name, CHAT_CAPS.shortName)}\u201D`;
}
