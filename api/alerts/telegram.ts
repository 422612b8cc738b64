import { timingSafeEqual } from 'node:crypto';
import { Router, type RequestHandler } from 'express';
import { applyChatUpdate } from '../../models/alerts/chat-connections.ts';
import { takeUpdate } from '../../models/alerts/telegram-updates.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { inTransaction } from '../../models/sql.ts';
import { replyTo } from '../../notifications/telegram/reply.ts';
import { SECRET_HEADER, TELEGRAM_PATH, WEBHOOK_SECRETS, readUpdate } from '../../notifications/telegram/update.ts';
import { enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import type { Parts } from '../handler.ts';
import { unknownRoute } from '../middleware/error-response.ts';
import { MAX_BODY_BYTES, readJson } from '../middleware/json-body.ts';
import { contextOf } from '../request-context.ts';

/** What updates of chats need. */
type TelegramParts = Parts<'database' | 'now' | 'makeId' | 'logger' | 'config' | 'telegramBot' | 'enqueueAttempts'>;

/**
 * `POST /telegram/<secret>`: what chats send to the bot, handed over by Telegram itself (D-55). Answered once it is
 * committed, so that Telegram repeats what a database that is away has missed; what it repeats all the same is neither
 * done nor answered twice. What there is to say goes back as the answer. Other callers get a 404.
 */
export function createTelegramRouter(dependencies: TelegramParts): Router {
  const router = Router({ caseSensitive: true });
  router.post('/:secret', requireSecrets(dependencies), ...readJson(MAX_BODY_BYTES), updateHandler(dependencies));
  router.use(unknownRoute);
  return router;
}

function updateHandler(dependencies: TelegramParts): RequestHandler {
  const { database, now, makeId, logger, config, telegramBot } = dependencies;
  const { publicUrl } = config;
  return async (request, response) => {
    const { id, update } = readUpdate(request.body, config.telegramBotName);
    // What people say to each other needs no mark: nothing is done about it.
    if (id === null || update.kind === 'other') return void response.json({});
    const nowMs = now();
    const applied = await inTransaction(database, async (run) =>
      (await takeUpdate(run, { bot: telegramBot, updateId: id, nowMs }))
        ? await applyChatUpdate(run, update, { newId: makeId, publicUrl, nowMs })
        : null,
    );
    logger.info(
      { update_id: id, kind: update.kind, outcome: applied?.outcome.outcome ?? 'repeated' },
      'telegram.update_taken',
    );
    if (applied === null) return void response.json({});
    const { outcome, deliveries } = applied;
    if (outcome.outcome === 'connected')
      logger.info({ tenant_id: outcome.channel.tenantId, channel_id: outcome.channel.id }, 'channel.connected');
    await enqueueDeliveries(dependencies, logger, deliveries.map(firstAttempt));
    const reply = replyTo(outcome, publicUrl);
    response.json(reply === null ? {} : { method: 'sendMessage', ...reply });
  };
}

/**
 * Both secrets, by digests of one length in constant time; those of older keys count while Telegram does not know the
 * new ones.
 */
function requireSecrets({ database }: Parts<'database'>): RequestHandler {
  const paths = database.secrets.derive(WEBHOOK_SECRETS.path).map(fingerprintOf);
  const headers = database.secrets.derive(WEBHOOK_SECRETS.header).map(fingerprintOf);
  return (request, response, next) => {
    const path = fingerprintOf(String(request.params['secret']));
    const header = fingerprintOf(String(request.headers[SECRET_HEADER]));
    const isTelegram = [isOneOf(path, paths), isOneOf(header, headers)].every(Boolean);
    if (!isTelegram) return unknownRoute(request, response, next);
    // The path itself belongs into no log.
    contextOf(response).route = `${TELEGRAM_PATH}/{secret}`;
    next();
  };
}

function isOneOf(given: Buffer, known: readonly Buffer[]): boolean {
  return known.reduce((isFound, one) => timingSafeEqual(given, one) || isFound, false);
}
