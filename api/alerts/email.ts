import type { Request, RequestHandler, Response } from 'express';
import { systemAuthorOf, systemActor } from '../../models/accounts/audit-log.ts';
import {
  confirmEmailChannel,
  findEmailChannel,
  findEmailCode,
  replaceEmailCode,
  unsubscribeEmailChannel,
} from '../../models/alerts/connect-links.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { isDatabaseAway } from '../../models/sql.ts';
import {
  EMAIL_CONFIRM_PATH,
  EMAIL_UNSUBSCRIBE_PATH,
  openConfirmCode,
  openUnsubscribeToken,
} from '../../notifications/email/links.ts';
import { enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import { badRequest, conflict, methodNotAllowed } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { addressOf, authorOf, callerOf, contextOf, idOf } from '../request-context.ts';
import { sendPlainPage, type PlainPage } from '../system/plain-page.ts';
import { getOwnChannel } from './channels.ts';
import { sendConfirmation, type ConfirmationParts } from './email-confirmation.ts';

type ResultPage = Omit<PlainPage, 'link'>;

/** Explanations of a link that cannot be used. */
const REFUSALS = {
  foreign: {
    status: 400,
    title: 'This link is not valid',
    sentences: ['It was not created by this Spotcheck, or it is not complete. Nothing was changed.'],
  },
  expired: {
    status: 400,
    title: 'This link has expired',
    sentences: ['A link to confirm an address is valid for 24 hours.', 'Send the confirmation again in Spotcheck.'],
  },
  used: {
    status: 400,
    title: 'This address is confirmed already',
    sentences: ['A link works once. Nothing was changed.'],
  },
  unknown: {
    status: 400,
    title: 'This link no longer works',
    sentences: ['A newer one was sent, or the channel was deleted. Nothing was changed.'],
  },
  databaseAway: {
    status: 503,
    title: 'Spotcheck is temporarily unavailable',
    sentences: ['It cannot reach its database. Nothing was changed.', 'Open the link again in a minute.'],
  },
} as const satisfies Record<string, ResultPage>;

/** `POST /channels/{id}/confirmation`: sends another one; links sent before stop working. */
export function resendConfirmationHandler(dependencies: ConfirmationParts): Handler<'resendConfirmation'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const { type, status, address } = await getOwnChannel(dependencies, key);
    if (type !== 'email' || address === null)
      throw badRequest(`confirmations apply to email channels only, but channel ${key.id} is of type ${type}`);
    if (status === 'connected') throw conflict(`channel ${key.id} is confirmed already`);
    const code = await sendConfirmation(dependencies, { tenantId: key.tenantId, address });
    if (!(await replaceEmailCode(dependencies.database, { ...key, author: authorOf(response) }, code)))
      throw conflict(`channel ${key.id} was confirmed or deleted meanwhile`);
    response.status(202).json({ id: key.id, confirmation_expires_at: code.expiresAtSeconds });
  };
}

type ConfirmParts = Parts<'database' | 'now' | 'makeId' | 'rateLimits' | 'config' | 'logger'>;

/**
 * `/connect/email`: target of the confirmation link. A GET shows a button and changes nothing, because mail servers
 * open links themselves; its POST confirms. Requires no token: the sealed code is proof enough.
 */
export function confirmEmailHandler(dependencies: ConfirmParts): RequestHandler {
  return pageHandler(EMAIL_CONFIRM_PATH, dependencies, async (request, response) => {
    const { database, now, rateLimits } = dependencies;
    const opened = openConfirmCode(textOf(request.query['code']), { open: database.secrets.open, nowMs: now() });
    if (opened.outcome !== 'good') return REFUSALS[opened.outcome];
    const fingerprint = fingerprintOf(opened.code);
    const code = await findEmailCode(database, { fingerprint, nowMs: now() });
    if (code.status !== 'open') return REFUSALS[code.status];
    await rateLimits.take('connect', fingerprint.toString('base64url'));
    if (request.method === 'POST') return await confirm(fingerprint, dependencies, response);
    return {
      status: 200,
      title: 'Confirm this address',
      sentences: [
        `Alerts of the channel “${code.name}” will be sent to ${code.address}.`,
        'Every message has a link to unsubscribe.',
      ],
      button: 'Confirm',
    };
  });
}

async function confirm(
  fingerprint: Buffer,
  { database, now, makeId, logger }: ConfirmParts,
  response: Response,
): Promise<ResultPage> {
  // The person is unknown: anyone who reads the mail of the address.
  const made = { newId: makeId, nowMs: now(), address: addressOf(response) };
  const author = systemAuthorOf(systemActor('Email'), 'channel.connected', made);
  const channel = await confirmEmailChannel(database, { fingerprint, nowMs: now(), author });
  if (channel === null) return REFUSALS.used;
  logger.info({ tenant_id: channel.tenantId, channel_id: channel.id }, 'channel.connected');
  return {
    status: 200,
    title: 'Address confirmed',
    sentences: [
      `Alerts of the channel “${channel.name}” arrive there from now on. You can close this page.`,
      ...(channel.enabled ? [] : ['The channel is disabled: alerts arrive once it is enabled again.']),
    ],
  };
}

type UnsubscribeParts = Parts<'database' | 'now' | 'makeId' | 'config' | 'logger' | 'enqueueAttempts'>;

/**
 * `/connect/email/unsubscribe`: target of `List-Unsubscribe`. A GET shows a button and changes nothing; a POST, from
 * that button or a mail program (RFC 8058), disables the channel. Its body adds nothing and is not read.
 */
export function unsubscribeHandler(dependencies: UnsubscribeParts): RequestHandler {
  return pageHandler(EMAIL_UNSUBSCRIBE_PATH, dependencies, async (request, response) => {
    const { database, now, makeId, config, logger } = dependencies;
    const channelId = openUnsubscribeToken(textOf(request.query['token']), database.secrets.open);
    if (channelId === null) return REFUSALS.foreign;
    const channel = await findEmailChannel(database, channelId);
    if (channel === null) return { ...UNSUBSCRIBED, sentences: ['The channel was deleted: it sends no more emails.'] };
    const { name, address, isSubscribed } = channel;
    if (request.method !== 'POST' && isSubscribed)
      return {
        status: 200,
        title: 'Unsubscribe',
        sentences: [`Alerts of the channel “${name}” are sent to ${address}.`],
        button: 'Unsubscribe',
      };
    const deliveries = await unsubscribeEmailChannel(database, channelId, {
      newId: makeId,
      publicUrl: config.publicUrl,
      nowMs: now(),
      address: addressOf(response),
    });
    await enqueueDeliveries(dependencies, logger, deliveries.map(firstAttempt));
    if (isSubscribed) logger.info({ channel_id: channelId }, 'channel.unsubscribed');
    return {
      ...UNSUBSCRIBED,
      sentences: [
        `No more alerts of the channel “${name}” are sent to ${address}.`,
        'To get them again, its account must send a new confirmation, and you must accept it.',
      ],
    };
  });
}

const UNSUBSCRIBED = { status: 200, title: 'Unsubscribed' } as const;

/** Shows the outcome of a visit; rejects HEAD, which would act without showing a page. */
function pageHandler(
  path: string,
  { config, logger }: Parts<'config' | 'logger'>,
  visit: (request: Request, response: Response) => Promise<ResultPage>,
): RequestHandler {
  return async (request, response) => {
    contextOf(response).route = path;
    if (request.method !== 'GET' && request.method !== 'POST') throw methodNotAllowed(request.method, 'GET, POST');
    const page = await visit(request, response).catch((error: unknown) => {
      if (!isDatabaseAway(error)) throw error;
      logger.error({ err: error, request_id: contextOf(response).requestId }, 'request.failed');
      return REFUSALS.databaseAway;
    });
    sendPlainPage(response, { ...page, link: { label: 'Open Spotcheck', url: config.publicUrl } });
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
