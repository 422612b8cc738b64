import type { Agent } from 'node:http';
import { applyChatUpdate } from '../../models/alerts/chat-connections.ts';
import { findNextUpdate, passUpdate, takeUpdate, type BotUpdate } from '../../models/alerts/telegram-updates.ts';
import { inTransaction, runOn, type Run } from '../../models/sql.ts';
import { callBot, nameBot, type BotAnswer, type TelegramBot } from '../../notifications/telegram/bot-api.ts';
import { replyTo } from '../../notifications/telegram/reply.ts';
import { ALLOWED_UPDATES, readUpdate } from '../../notifications/telegram/update.ts';
import { enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import type { Runtime } from '../runtime.ts';

/** How the installation's bot is listened to. */
export type Listening = {
  runtime: Pick<Runtime, 'database' | 'log' | 'newId' | 'now' | 'publicUrl' | 'queues'>;
  bot: TelegramBot;
  /** Null = commands are taken to whichever bot they are addressed. */
  botName: string | null;
  /** Destroyed when the process stops, which ends a poll that waits for updates. */
  agent: Agent;
  stopping: AbortSignal;
};

/** How long Telegram holds a poll while there is nothing to tell, and how much longer its answer may take. */
const POLL_SECONDS = 25;
const POLL_MARGIN_MS = 10_000;

/** Updates of one poll: their texts are long at the most, and each is answered before the next. */
const UPDATES_AT_ONCE = 20;

/** A reply that takes longer is not waited for, in milliseconds. */
const REPLY_MS = 8000;

/**
 * Polls Telegram for updates once and acts on each, in one transaction with the record that it was taken. So neither a
 * restart nor another process takes it again. Returns Telegram's answer, and how many updates were taken; null where a
 * stop came first: the rest is there for the next poll. One process at a time.
 */
export async function pollUpdates(listening: Listening): Promise<{ answer: BotAnswer; taken: number } | null> {
  const { runtime, bot, agent, stopping } = listening;
  const offset = await findNextUpdate(runOn(runtime.database.pool), { bot: nameBot(bot.token), nowMs: runtime.now() });
  const parameters = {
    timeout: POLL_SECONDS,
    limit: UPDATES_AT_ONCE,
    allowed_updates: ALLOWED_UPDATES,
    ...(offset !== null && { offset }),
  };
  // From this poll on the agent knows of the request, so that a stop ends it.
  if (stopping.aborted) return null;
  const answer = await callBot(bot, {
    method: 'getUpdates',
    parameters,
    deadlineMs: POLL_SECONDS * 1000 + POLL_MARGIN_MS,
    agent,
  });
  const updates: readonly unknown[] = answer.outcome === 'done' && Array.isArray(answer.result) ? answer.result : [];
  let taken = 0;
  for (const update of updates) {
    if (stopping.aborted) return null;
    if (await handleUpdate(listening, update)) taken += 1;
  }
  return { answer, taken };
}

/** False where the update was taken before, or is none. */
async function handleUpdate({ runtime, bot, botName }: Listening, json: unknown): Promise<boolean> {
  const { database, queues, log, publicUrl, newId, now } = runtime;
  const { id, update } = readUpdate(json, botName);
  if (id === null) return false;
  const nowMs = now();
  const applied = await inTransaction(database, async (run) =>
    (await takePolled(run, { bot: nameBot(bot.token), updateId: id, nowMs }))
      ? await applyChatUpdate(run, update, { newId, publicUrl, nowMs })
      : null,
  );
  if (applied === null) return false;
  const { outcome, deliveries } = applied;
  log.info({ update_id: id, kind: update.kind, outcome: outcome.outcome }, 'telegram.update_taken');
  if (outcome.outcome === 'connected')
    log.info({ tenant_id: outcome.channel.tenantId, channel_id: outcome.channel.id }, 'channel.connected');
  await enqueueDeliveries(queues, log, deliveries.map(firstAttempt));
  const reply = replyTo(outcome, publicUrl);
  if (reply === null) return true;
  const answer = await callBot(bot, { method: 'sendMessage', parameters: reply, deadlineMs: REPLY_MS });
  if (answer.outcome !== 'done') log.warn({ update_id: id, ...failureFields(answer) }, 'telegram.reply_lost');
  return true;
}

/** What a log line says of a call that failed. */
export function failureFields(answer: Exclude<BotAnswer, { outcome: 'done' }>): {
  status_code: number | null;
  error: string;
} {
  return { status_code: answer.statusCode, error: answer.outcome === 'refused' ? answer.description : answer.reason };
}

/**
 * An update may have been handed over by webhook before, when there was a public URL. Polling goes on behind it all the
 * same.
 */
async function takePolled(run: Run, update: BotUpdate): Promise<boolean> {
  return (await passUpdate(run, update)) && (await takeUpdate(run, update));
}
