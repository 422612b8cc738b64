/**
 * What a chat sent to the bot, as far as it concerns channels. `start` carries the fingerprint of its connect code,
 * null where none came along; `removed`: the bot was blocked, or put out of a group; `moved`: the chat has another id
 * from now on.
 */
export type ChatUpdate =
  | { kind: 'start'; chatId: string; fingerprint: Uint8Array | null }
  | { kind: 'stop'; chatId: string }
  | { kind: 'removed'; chatId: string }
  | { kind: 'moved'; chatId: string; to: string }
  | { kind: 'other' };

/** A channel of a chat, as the chat is notified of it. */
export type ChatChannel = { name: string; allMonitors: boolean; enabled: boolean };

/** The same with what a log names it by. */
export type ConnectedChannel = ChatChannel & { id: string; tenantId: string };

/** What became of an update. `silent`: there is nothing to say, or no chat to say it to. */
export type ChatOutcome =
  | { outcome: 'connected'; chatId: string; channel: ConnectedChannel }
  | { outcome: 'connected_before'; chatId: string; channel: ChatChannel }
  | { outcome: 'code_unknown' | 'code_used' | 'code_expired'; chatId: string }
  | { outcome: 'no_code'; chatId: string; channels: readonly ChatChannel[] }
  | { outcome: 'stopped'; chatId: string; channels: readonly ChatChannel[] }
  | { outcome: 'silent' };
