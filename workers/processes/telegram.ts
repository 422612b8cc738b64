import http from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { HOUR_MS } from '../../core/time.ts';
import { withAdvisoryLock } from '../../models/sql.ts';
import { callBot, type BotAnswer } from '../../notifications/telegram/bot-api.ts';
import { openTelegramBot, type TelegramSettings } from '../../notifications/telegram/sending.ts';
import {
  ALLOWED_UPDATES,
  TELEGRAM_PATH,
  WEBHOOK_SECRETS,
  canTakeWebhooks,
} from '../../notifications/telegram/update.ts';
import { failureFields, pollUpdates, type Listening } from '../alerts/telegram-updates.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/**
 * Pauses between rounds, in milliseconds: a webhook is set again once an hour, in case another program has taken it
 * away.
 */
const PAUSES = { webhookSet: HOUR_MS, othersPoll: 5000, failed: 10_000, tooEasy: 1000, none: 0 } as const;

/** A poll that has nothing to tell and is answered sooner than this did not wait, in milliseconds. */
const HELD_MS = 1000;

const CALL_MS = 10_000;

/** Another program asks in the bot's name, or a webhook is set. */
const CONFLICT = 409;

/** Milliseconds until the next round. */
type Round = () => Promise<number>;

/**
 * Starts listening to what chats send to the bot. With an https PUBLIC_URL Telegram is told to hand updates to the API,
 * otherwise it is asked for them. Several processes that do so share the work: one asks at a time. Without a bot there
 * is nothing to do.
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

/** A formerly public installation has left a webhook behind: while it exists, Telegram refuses `getUpdates`. */
function isRefusedForWebhook(answer: BotAnswer): boolean {
  return answer.outcome === 'refused' && answer.statusCode === CONFLICT && /webhook/i.test(answer.description);
}

function pauseAfter(answer: BotAnswer): number {
  const requestedWaitMs = answer.outcome === 'refused' ? (answer.retryAfterMs ?? 0) : 0;
  return Math.max(PAUSES.failed, requestedWaitMs);
}
