import http, { type Agent } from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { HOUR_MS } from '../../core/time.ts';
import { applyChatUpdate } from '../../models/alerts/chat-connections.ts';
import { findNextUpdate, passUpdate, takeUpdate, type BotUpdate } from '../../models/alerts/telegram-updates.ts';
import { inTransaction, runOn, withAdvisoryLock, type Run } from '../../models/sql.ts';
import { callBot, nameBot, type BotAnswer, type TelegramBot } from '../../notifications/telegram/bot-api.ts';
import { openTelegramBot, type TelegramSettings } from '../../notifications/telegram/sending.ts';
import {
  ALLOWED_UPDATES,
  TELEGRAM_PATH,
  WEBHOOK_SECRETS,
  canTakeWebhooks,
  readUpdate,
  replyTo,
} from '../../notifications/telegram/update.ts';
import { enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/**
 * Pauses between rounds, in milliseconds: a webhook is set again once an hour, in case another program has removed it.
 */
const PAUSES = { webhookSet: HOUR_MS, othersPoll: 5000, failed: 10_000, tooEasy: 1000, none: 0 } as const;

/** A poll without updates that was answered sooner than this did not wait, in milliseconds. */
const HELD_MS = 1000;

const CALL_MS = 10_000;

/** Status if another program polls for the bot, or a webhook is set. */
const CONFLICT = 409;

/** Runs a round; returns the milliseconds until the next one. */
type Round = () => Promise<number>;

/**
 * Starts receiving the messages of chats to the bot. With an https PUBLIC_URL Telegram sends updates to the API,
 * otherwise they are polled. Several processes that do so share the work: one polls at a time. Without a bot this does
 * nothing.
 */
export function startTelegram(runtime: Runtime, { botToken, botName, apiUrl }: TelegramSettings): RunningProcess {
  const bot = openTelegramBot({ botToken, apiUrl });
  if (bot === null) return { name: 'telegram', stop: () => Promise.resolve() };
  const { log } = runtime;
  const stopping = new AbortController();
  const agent = apiUrl.startsWith('https:') ? new https.Agent() : new http.Agent();
  const listening: Listening = { runtime, bot, botName, agent, stopping: stopping.signal };
  const round = canTakeWebhooks(runtime.publicUrl) ? webhookRound(listening) : pollRound(listening);
  const listen = async () => {
    while (!stopping.signal.aborted) {
      const pauseMs = await round().catch((error: unknown) => {
        log.warn({ err: error }, 'telegram.round_failed');
        return PAUSES.failed;
      });
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const listened = listen();
  return {
    name: 'telegram',
    async stop() {
      stopping.abort();
      agent.destroy();
      await listened;
    },
  };
}

function webhookRound({ runtime, bot, agent, stopping }: Listening): Round {
  const { database, log, publicUrl } = runtime;
  const [path] = database.secrets.derive(WEBHOOK_SECRETS.path);
  const [secret] = database.secrets.derive(WEBHOOK_SECRETS.header);
  const parameters = {
    url: `${publicUrl}${TELEGRAM_PATH}/${path}`,
    secret_token: secret,
    allowed_updates: ALLOWED_UPDATES,
  };
  return async () => {
    const answer = await callBot(bot, { method: 'setWebhook', parameters, deadlineMs: CALL_MS, agent });
    if (stopping.aborted) return PAUSES.none;
    if (answer.outcome === 'done') return PAUSES.webhookSet;
    log.warn(failureFields(answer), 'telegram.webhook_not_set');
    return pauseAfter(answer);
  };
}

function pollRound(listening: Listening): Round {
  const { runtime, bot, agent, stopping } = listening;
  const { database, log } = runtime;
  const ask = async (): Promise<number> => {
    const startedAt = performance.now();
    const polled = await pollUpdates(listening);
    if (polled === null || stopping.aborted) return PAUSES.none;
    const { answer, taken } = polled;
    if (answer.outcome !== 'done') return isRefusedForWebhook(answer) ? await removeWebhook() : complain(answer);
    return taken === 0 && performance.now() - startedAt < HELD_MS ? PAUSES.tooEasy : PAUSES.none;
  };
  const removeWebhook = async (): Promise<number> => {
    const answer = await callBot(bot, { method: 'deleteWebhook', parameters: {}, deadlineMs: CALL_MS, agent });
    if (answer.outcome !== 'done') return complain(answer);
    log.info({}, 'telegram.webhook_removed');
    return PAUSES.none;
  };
  const complain = (answer: Exclude<BotAnswer, { outcome: 'done' }>): number => {
    log.warn(failureFields(answer), answer.statusCode === CONFLICT ? 'telegram.conflict' : 'telegram.not_polled');
    return pauseAfter(answer);
  };
  return async () => (await withAdvisoryLock(database, 'telegram', ask)) ?? PAUSES.othersPoll;
}

/** Detects the webhook of a formerly public installation: while it exists, Telegram refuses `getUpdates`. */
function isRefusedForWebhook(answer: BotAnswer): boolean {
  return answer.outcome === 'refused' && answer.statusCode === CONFLICT && /webhook/i.test(answer.description);
}

function pauseAfter(answer: BotAnswer): number {
  const requestedWaitMs = answer.outcome === 'refused' ? (answer.retryAfterMs ?? 0) : 0;
  return Math.max(PAUSES.failed, requestedWaitMs);
}

/** Dependencies of receiving the bot's messages. */
type Listening = {
  runtime: Pick<Runtime, 'database' | 'log' | 'newId' | 'now' | 'publicUrl' | 'queues'>;
  bot: TelegramBot;
  /** Null if commands are accepted whichever bot they address. */
  botName: string | null;
  /** Destroyed when the process stops, which ends a poll that waits for updates. */
  agent: Agent;
  stopping: AbortSignal;
};

/** How long Telegram holds a poll without updates, and how much longer its response may take. */
const POLL_SECONDS = 25;
const POLL_MARGIN_MS = 10_000;

/** Maximum updates of one poll: their texts may be long, and each is answered before the next. */
const UPDATES_AT_ONCE = 20;

/** Timeout of a reply, in milliseconds. */
const REPLY_MS = 8000;

/**
 * Polls Telegram for updates once and acts on each, in one transaction with the record that it was taken. So neither a
 * restart nor another process takes it again. Returns Telegram's response, and how many updates were taken; null if a
 * stop came first: the remaining ones are left for the next poll. One process does this at a time.
 */
async function pollUpdates(listening: Listening): Promise<{ answer: BotAnswer; taken: number } | null> {
  const { runtime, bot, agent, stopping } = listening;
  const offset = await findNextUpdate(runOn(runtime.database.pool), { bot: nameBot(bot.token), nowMs: runtime.now() });
  const parameters = {
    timeout: POLL_SECONDS,
    limit: UPDATES_AT_ONCE,
    allowed_updates: ALLOWED_UPDATES,
    ...(offset !== null && { offset }),
  };
  // From this call on the agent tracks the request, so that a stop ends it.
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

/** Acts on an update; returns false if it was taken before, or is not one. */
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

/** Returns the log fields of a failed call. */
function failureFields(answer: Exclude<BotAnswer, { outcome: 'done' }>): {
  status_code: number | null;
  error: string;
} {
  return { status_code: answer.statusCode, error: answer.outcome === 'refused' ? answer.description : answer.reason };
}

/**
 * Takes a polled update. It may have been delivered by webhook before, when there was a public URL; polling still
 * continues after it.
 */
async function takePolled(run: Run, update: BotUpdate): Promise<boolean> {
  return (await passUpdate(run, update)) && (await takeUpdate(run, update));
}
