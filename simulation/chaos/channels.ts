import type { ChannelRule } from '../../core/alerts/rules.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { withConnection } from '../../postgres/client.ts';
import type { ApiClient } from '../../test/helpers/api-client.ts';

/** Name of the webhook without rules, which gets one delivery of each transition. */
export const ON_CALL = 'On call';

/** A further channel, with its settings for the judge. */
export type ChaosChannel = {
  name: string;
  type: 'webhook' | 'telegram';
  /** Fields for the API in addition to name and type. */
  settings: Readonly<Record<string, unknown>>;
  /** Its only rule; null = none. */
  rule: ChannelRule | null;
};

/** Tag of every other monitor, by which a channel chooses. */
export const TAG = 'env:odd';

/** Reports whether incidents of a monitor are acknowledged once they are found: those of every third monitor. */
export const isAcknowledged = (index: number): boolean => index % 3 === 0;

/**
 * Channels with everything that shapes alerts. Their times are shorter than the API allows, because no run lasts that
 * long: rules are written directly into the database.
 */
export const CHANNELS: readonly ChaosChannel[] = [
  {
    name: 'Escalation',
    type: 'webhook',
    settings: {},
    rule: { after_seconds: 12, unless_acknowledged: true },
  },
  { name: 'Reminders', type: 'webhook', settings: {}, rule: { repeat_seconds: 8, repeat_max: 2 } },
  { name: 'Tagged', type: 'webhook', settings: {}, rule: { events: ['monitor.down', 'monitor.up'], tags: [TAG] } },
  {
    name: 'Quiet hours',
    type: 'webhook',
    settings: {},
    rule: { quiet: { timezone: 'UTC', hours: '', mode: 'defer' } },
  },
  { name: 'Groups', type: 'webhook', settings: { group_seconds: 6 }, rule: null },
  { name: 'Parents', type: 'webhook', settings: { follows_maintenance: true }, rule: null },
  { name: 'Chat', type: 'telegram', settings: {}, rule: null },
  { name: 'Group chat', type: 'telegram', settings: { group_seconds: 6 }, rule: null },
  { name: 'Calm chat', type: 'telegram', settings: { summarize_flapping: true }, rule: null },
];

/**
 * Shortest time until quiet hours that began before the run end, in milliseconds: they end at the first full minute
 * after it.
 */
const QUIET_AT_LEAST_MS = 20_000;

/** Creates the channels; returns when quiet hours end, in Unix milliseconds. */
export async function createChannels(
  call: ApiClient,
  { databaseUrl, hookUrl, channels }: { databaseUrl: string; hookUrl: string; channels: readonly ChaosChannel[] },
): Promise<number> {
  const quietUntilMs = Math.ceil((Date.now() + QUIET_AT_LEAST_MS) / MINUTE_MS) * MINUTE_MS;
  for (const { name, type, settings, rule } of channels) {
    const url = type === 'webhook' ? { url: `${hookUrl}/${encodeURIComponent(name)}` } : {};
    const { status, json } = await call('POST', '/channels', { type, name, ...url, ...settings });
    if (status !== 201) throw new Error(JSON.stringify(json));
    const rules =
      rule === null ? null : [rule.quiet === undefined ? rule : { ...rule, quiet: quietUntil(quietUntilMs) }];
    await withConnection(databaseUrl, (client) =>
      client.query(
        `UPDATE channels SET rules = $2, status = 'connected',
           chat_id = CASE type WHEN 'telegram' THEN $3::text END WHERE id = $1`,
        [json['id'], rules === null ? null : JSON.stringify(rules), chatIdOf(name)],
      ),
    );
  }
  return quietUntilMs;
}

function quietUntil(untilMs: number): NonNullable<ChannelRule['quiet']> {
  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);
  return { timezone: 'UTC', hours: `Mo-Su ${clock(untilMs - 30 * MINUTE_MS)}-${clock(untilMs)}`, mode: 'defer' };
}

/** Returns the chat of a channel. */
function chatIdOf(name: string): string {
  return String(-1000 - CHANNELS.findIndex((channel) => channel.name === name));
}

/** Returns the name of a chat's channel. */
export function channelOfChat(chatId: string): string {
  return CHANNELS.find(({ name }) => chatIdOf(name) === chatId)?.name ?? '';
}
