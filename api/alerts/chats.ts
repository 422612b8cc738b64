import { timingSafeEqual } from 'node:crypto';
import { Router, type Request, type RequestHandler } from 'express';
import { buildGreeting } from '../../core/alerts/chat/message.ts';
import { systemAuthorOf, systemActor } from '../../models/accounts/audit-log.ts';
import { applyChatUpdate, type CodedChannel } from '../../models/alerts/chat-connections.ts';
import { connectSlackChannel, findSlackCodeStatus } from '../../models/alerts/connect-links.ts';
import { takeUpdate } from '../../models/alerts/telegram-updates.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { inTransaction, isDatabaseAway } from '../../models/sql.ts';
import {
  SLACK_RETURN_PATH,
  openState,
  type SlackAuthorization,
  type SlackGrant,
} from '../../notifications/slack/authorization.ts';
import {
  SECRET_HEADER,
  TELEGRAM_PATH,
  WEBHOOK_SECRETS,
  readUpdate,
  replyTo,
} from '../../notifications/telegram/update.ts';
import { enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import { methodNotAllowed } from '../api-error.ts';
import type { Parts } from '../handler.ts';
import { unknownRoute } from '../middleware/error-response.ts';
import { MAX_BODY_BYTES, readJson } from '../middleware/json-body.ts';
import { addressOf, contextOf } from '../request-context.ts';
import { sendPlainPage } from '../system/plain-page.ts';

/** Outcome of a visit, for the person who made it. */
type ResultPage = { status: number; title: string; sentences: string[] };

const AGAIN = 'Create the channel again and open its new link.';

/** Explanations of a visit that cannot connect anything. */
const REFUSALS = {
  denied: {
    status: 400,
    title: 'Slack was not connected',
    sentences: [
      'Access was denied in Slack. Nothing was changed.',
      'To connect it, open the channel’s link again within an hour of creating the channel.',
    ],
  },
  reported: {
    status: 400,
    title: 'Slack was not connected',
    sentences: [
      'Slack reported an error.',
      'Open the channel’s link again. If that does not help, ask your administrator to check the Slack app.',
    ],
  },
  incomplete: {
    status: 400,
    title: 'This link is not complete',
    sentences: [
      'Slack opens this page after you approve access. It does nothing by itself.',
      'Open the link that the channel was created with.',
    ],
  },
  foreign: {
    status: 400,
    title: 'This link is not valid',
    sentences: ['It was not created by this Spotcheck, or it was changed. Nothing was connected.', AGAIN],
  },
  expired: {
    status: 400,
    title: 'This link has expired',
    sentences: ['A link to connect Slack is valid for one hour.', AGAIN],
  },
  used: {
    status: 400,
    title: 'This link was already used',
    sentences: [
      'A link works once. Nothing was changed.',
      'To connect another Slack channel, create another channel in Spotcheck and open its link.',
    ],
  },
  unknown: {
    status: 400,
    title: 'This channel no longer exists',
    sentences: ['The channel of this link was deleted.', AGAIN],
  },
  noApp: {
    status: 503,
    title: 'Slack isn’t configured',
    sentences: [
      'Nothing was connected. Ask your administrator to set SLACK_CLIENT_ID and SLACK_CLIENT_SECRET.',
      'Then create the channel again and open its new link.',
    ],
  },
  databaseAway: {
    status: 503,
    title: 'Spotcheck is temporarily unavailable',
    sentences: ['It cannot reach its database. Nothing was connected.', 'Open the channel’s link again in a minute.'],
  },
} as const satisfies Record<string, { status: number; title: string; sentences: readonly string[] }>;

/** Explanations of an exchange that yielded no webhook, by its outcome. */
const UNGRANTED = {
  stale: {
    status: 400,
    title: 'Slack was not connected',
    remedy: 'Slack’s approval is valid once, for ten minutes. Open the channel’s link again.',
  },
  refused: {
    status: 502,
    title: 'Slack does not accept this Spotcheck',
    remedy:
      'Ask your administrator to check the Slack app: its client ID, client secret and redirect URL, ' +
      'and the scope incoming-webhook.',
  },
  away: {
    status: 502,
    title: 'Can’t reach Slack',
    remedy: 'Nothing was connected. Open the channel’s link again in a minute.',
  },
} as const satisfies Record<
  Exclude<SlackAuthorization['outcome'], 'granted'>,
  { status: number; title: string; remedy: string }
>;

/** Dependencies for connecting a Slack channel. */
type SlackParts = Parts<
  'database' | 'now' | 'makeId' | 'authorizeSlack' | 'sendSlack' | 'rateLimits' | 'config' | 'logger'
>;

/**
 * `GET /connect/slack`: Slack redirects people here after they have chosen a channel there (D-55). Requires no token:
 * the sealed state is proof enough.
 */
export function slackReturnHandler(dependencies: SlackParts): RequestHandler {
  const { config, logger } = dependencies;
  return async (request, response) => {
    contextOf(response).route = SLACK_RETURN_PATH;
    // A HEAD request would use up the code without showing a page.
    if (request.method !== 'GET') throw methodNotAllowed(request.method, 'GET');
    const page = await comeBack(request, { ...dependencies, address: addressOf(response) }).catch((error: unknown) => {
      if (!isDatabaseAway(error)) throw error;
      logger.error({ err: error, request_id: contextOf(response).requestId }, 'request.failed');
      return describeRefusal('databaseAway');
    });
    sendPlainPage(response, { ...page, link: { label: 'Open Spotcheck', url: config.publicUrl } });
  };
}

async function comeBack(
  { query }: Request,
  dependencies: SlackParts & { address: string | null },
): Promise<ResultPage> {
  const { database, now, makeId, authorizeSlack, address, rateLimits } = dependencies;
  if (query['error'] !== undefined) return describeRefusal(query['error'] === 'access_denied' ? 'denied' : 'reported');
  const { code, state } = query;
  if (typeof code !== 'string' || code === '' || typeof state !== 'string') return describeRefusal('incomplete');
  const opened = openState(state, { open: database.secrets.open, nowMs: now() });
  if (opened.outcome !== 'good') return describeRefusal(opened.outcome);
  const fingerprint = fingerprintOf(opened.code);
  const status = await findSlackCodeStatus(database, { fingerprint, nowMs: now() });
  if (status !== 'open') return describeRefusal(status);
  if (authorizeSlack === null) return describeRefusal('noApp');

  await rateLimits.take('connect', fingerprint.toString('base64url'));
  // Spotcheck's own code stays valid until it connects something, so a visit during an outage of Slack can be repeated.
  const authorization = await authorizeSlack(code);
  if (authorization.outcome !== 'granted') return describeUngranted(authorization, dependencies);
  const { grant } = authorization;
  // The returning person is unknown: the channel's link may have been passed on.
  const author = systemAuthorOf(systemActor('Slack'), 'channel.connected', { newId: makeId, nowMs: now(), address });
  const channel = await connectSlackChannel(database, { ...grant, fingerprint, nowMs: now(), author });
  if (channel === null) return describeRefusal('used');
  dependencies.logger.info({ tenant_id: channel.tenantId, channel_id: channel.id }, 'channel.connected');
  return describeConnected(channel, grant, await greet(channel, grant, dependencies));
}

/** Posts a greeting in the channel; false if it was not delivered. */
async function greet(
  { id, name, enabled, allMonitors }: CodedChannel,
  { webhookUrl }: SlackGrant,
  { config, sendSlack, logger }: Parts<'config' | 'sendSlack' | 'logger'>,
): Promise<boolean> {
  try {
    const { outcome, error } = await sendSlack(
      webhookUrl,
      buildGreeting({ name, enabled, allMonitors, publicUrl: config.publicUrl }, null),
    );
    if (outcome === 'delivered') return true;
    logger.warn({ channel_id: id, error }, 'channel.not_greeted');
  } catch (error) {
    logger.warn({ channel_id: id, err: error }, 'channel.not_greeted');
  }
  return false;
}

function describeConnected(
  { name, enabled }: CodedChannel,
  { channelName, teamName }: SlackGrant,
  isGreeted: boolean,
): ResultPage {
  const destination = [
    channelName ?? 'the Slack channel that you chose',
    ...(teamName === null ? [] : [`in ${teamName}`]),
  ].join(' ');
  return {
    status: 200,
    title: 'Slack is connected',
    sentences: [
      `Alerts for “${name}” arrive in ${destination} from now on.`,
      isGreeted
        ? 'A first message has been sent there. You can close this page.'
        : 'The first message did not arrive: check whether Slack lets Spotcheck post there.',
      ...(enabled ? [] : ['The channel is disabled: alerts arrive once it is enabled again.']),
    ],
  };
}

function describeUngranted(
  { outcome, reason }: Exclude<SlackAuthorization, { outcome: 'granted' }>,
  { logger }: Parts<'logger'>,
): ResultPage {
  logger.warn({ outcome, error: reason }, 'channel.not_connected');
  const { status, title, remedy } = UNGRANTED[outcome];
  return { status, title, sentences: [`${reason}.`, remedy] };
}

function describeRefusal(refusal: keyof typeof REFUSALS): ResultPage {
  const { status, title, sentences } = REFUSALS[refusal];
  return { status, title, sentences: [...sentences] };
}

/** Dependencies for updates from Telegram chats. */
type TelegramParts = Parts<'database' | 'now' | 'makeId' | 'logger' | 'config' | 'telegramBot' | 'enqueueAttempts'>;

/**
 * `POST /telegram/<secret>`: updates that Telegram delivers for the bot (D-55). Responds once the update is committed,
 * so that Telegram repeats those that a database outage missed. Repeated updates that were committed are neither
 * applied nor answered twice. A reply is sent in the response. Other callers get a 404.
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
    // Other messages cause no change, so they need not be recorded as taken.
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
 * Requires both secrets, compared in constant time by digests of equal length; those of older keys count until Telegram
 * has the new ones.
 */
function requireSecrets({ database }: Parts<'database'>): RequestHandler {
  const paths = database.secrets.derive(WEBHOOK_SECRETS.path).map(fingerprintOf);
  const headers = database.secrets.derive(WEBHOOK_SECRETS.header).map(fingerprintOf);
  return (request, response, next) => {
    const path = fingerprintOf(String(request.params['secret']));
    const header = fingerprintOf(String(request.headers[SECRET_HEADER]));
    const isTelegram = [isOneOf(path, paths), isOneOf(header, headers)].every(Boolean);
    if (!isTelegram) return unknownRoute(request, response, next);
    // The path itself contains a secret and must not be logged.
    contextOf(response).route = `${TELEGRAM_PATH}/{secret}`;
    next();
  };
}

function isOneOf(given: Buffer, known: readonly Buffer[]): boolean {
  return known.reduce((isFound, one) => timingSafeEqual(given, one) || isFound, false);
}
