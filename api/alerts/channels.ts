import { randomBytes } from 'node:crypto';
import type { Channel, ChannelType } from '../../core/alerts/channel.ts';
import { describeRule, type ChannelRule } from '../../core/alerts/rules.ts';
import { formatFields, type WebhookFormat, type WebhookHeaders } from '../../core/alerts/webhook.ts';
import type { MonitorTags } from '../../core/monitors/monitor.ts';
import {
  ChannelRefusal,
  MAX_CHANNELS,
  MAX_GROUPING,
  MAX_REPORT_ZONES,
  MAX_TEMPLATES,
  TOO_MANY_ROUTES,
  requireRoom,
} from '../../models/alerts/channel-limits.ts';
import {
  createChannel,
  deleteChannel,
  findChannel,
  listChannels,
  updateChannel,
  type NewChannel,
} from '../../models/alerts/channels.ts';
import { rotateSigningSecret } from '../../models/alerts/webhook-secrets.ts';
import { listOwnMonitorIds } from '../../models/monitors/monitors.ts';
import { runOn, type RowKey } from '../../models/sql.ts';
import { generateConnectCode } from '../../notifications/connect-code.ts';
import { buildSlackLink } from '../../notifications/slack/authorization.ts';
import { buildTelegramLinks } from '../../notifications/telegram/bot-api.ts';
import { generateSigningSecret } from '../../notifications/webhook/signature.ts';
import { accept, badRequest, notFound } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { byCreation, cutPage, readPage } from '../pagination.ts';
import { authorOf, callerOf, idOf, isId } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { readChannelCreate, readChannelPatch } from './channel-input.ts';
import { sendConfirmation, type ConfirmationParts } from './email-confirmation.ts';

/** `GET /channels` */
export function listChannelsHandler({ database, config }: Parts<'database' | 'config'>): Handler<'listChannels'> {
  return async (request, response) => {
    const { limit, after } = readPage(request);
    const { type } = request.query;
    const channels = await listChannels(database, {
      tenantId: callerOf(response).tenantId,
      ...(type && { type }),
      ...(after && { after: { createdAt: after.at, id: after.id } }),
      ...(limit !== null && { limit: limit + 1 }),
    });
    const page = cutPage(
      channels,
      { limit, positionOf: byCreation },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ channels: page.map(presentChannel) });
  };
}

/** `POST /channels`: a webhook must pass a test delivery before anything is stored (D-52). */
export function createChannelHandler(
  dependencies: ConfirmationParts & Parts<'sendTestDelivery'>,
): Handler<'createChannel'> {
  const { database, makeId, now, rateLimits } = dependencies;
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const { url, address, headers, format, ...draft } = accept(readChannelCreate(request.body));
    const monitorIds = await filterOwnMonitors(dependencies, tenantId, draft.monitorIds);

    // The limits are checked before anything is sent, so that a channel that cannot be stored is not tested either.
    const id = makeId('nch');
    await requireRoom(runOn(database.pool), { tenantId, id }, { ...draft, format }).catch(throwRefusal);
    if (draft.type === 'webhook') await rateLimits.take('test', tenantId);

    const nowMs = now();
    const connected = { account: tenantId, type: draft.type, url, address, headers, format, nowMs };
    const { stored, shown } = await connectChannel(dependencies, connected);
    await createChannel(database, {
      author: authorOf(response),
      id,
      tenantId,
      ...draft,
      monitorIds,
      ...stored,
      nowMs,
    }).catch(throwRefusal);
    response.status(201).json({ id, ...shown });
  };
}

const REFUSALS = {
  count: `an account can have at most ${MAX_CHANNELS} channels, and this one has reached the limit: delete one first`,
  routes: TOO_MANY_ROUTES,
  report_zones:
    'report_timezone must be one of the zones of other channels: an account can have reports in at most ' +
    `${MAX_REPORT_ZONES} zones other than UTC`,
  grouping:
    'group_seconds and summarize_flapping must be left out: an account can have at most ' +
    `${MAX_GROUPING} channels with one of them`,
  templates: `template must be left out: an account can have at most ${MAX_TEMPLATES} webhooks with a template`,
  grouped_format: 'group_seconds must be 0 for a webhook with a preset or template',
} as const satisfies Record<ChannelRefusal['reason'], string>;

/** Throws a model's refusal to store a channel as a 400, and any other error as it is. */
export function throwRefusal(error: unknown): never {
  throw error instanceof ChannelRefusal ? badRequest(REFUSALS[error.reason]) : error;
}

/** `GET /channels/{id}` */
export function getChannelHandler(dependencies: Parts<'database'>): Handler<'getChannel'> {
  return async (request, response) => {
    response.json(
      presentChannel(await getOwnChannel(dependencies, { tenantId: callerOf(response).tenantId, id: idOf(request) })),
    );
  };
}

/** `PATCH /channels/{id}` */
export function updateChannelHandler(dependencies: Parts<'database'>): Handler<'updateChannel'> {
  const { database } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const current = await getOwnChannel(dependencies, key);
    // The type never changes, so the patch can be checked before the row is locked.
    const patch = accept(readChannelPatch(request.body, current));
    const monitorIds = patch.monitorIds && (await filterOwnMonitors(dependencies, key.tenantId, patch.monitorIds));
    const updated = await updateChannel(
      database,
      { ...key, author: authorOf(response) },
      { ...patch, ...(monitorIds && { monitorIds }) },
    ).catch(throwRefusal);
    if (updated === null) throw notFound('channel', key.id);
    response.json({ ok: true });
  };
}

/** `DELETE /channels/{id}` */
export function deleteChannelHandler({ database }: Parts<'database'>): Handler<'deleteChannel'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    if (!(await deleteChannel(database, { ...key, author: authorOf(response) }))) throw notFound('channel', key.id);
    response.json({ ok: true });
  };
}

/** `POST /channels/{id}/rotate-secret`: besides the creation, the only place that shows a secret. */
export function rotateSecretHandler(dependencies: Parts<'database' | 'now'>): Handler<'rotateSecret'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const { type } = await getOwnChannel(dependencies, key);
    if (type !== 'webhook')
      throw badRequest(`signing secrets apply to webhook channels only, but channel ${key.id} is of type ${type}`);
    const signingSecret = generateSigningSecret(randomBytes);
    if (!(await rotateSigningSecret(database, { ...key, author: authorOf(response) }, { signingSecret, nowMs: now() })))
      throw notFound('channel', key.id);
    response.json({ signing_secret: signingSecret });
  };
}

/** Finds a channel of the account; throws 404 if there is none with the id. */
export async function getOwnChannel({ database }: Parts<'database'>, key: RowKey): Promise<Channel> {
  const channel = await findChannel(database, key);
  if (channel === null) throw notFound('channel', key.id);
  return channel;
}

/** Returns those ids that are monitors of the account, as with `dependencies` (D-64). */
async function filterOwnMonitors(
  { database }: Parts<'database'>,
  tenantId: string,
  monitorIds: readonly string[],
): Promise<string[]> {
  return monitorIds.length === 0 ? [] : await listOwnMonitorIds(database, tenantId, monitorIds.filter(isId));
}

/** Connection of a new channel: the part that is stored, and the part that its owner is shown once. */
type Connection = {
  stored: Pick<NewChannel, 'status' | 'webhook' | 'address' | 'connectCode' | 'tested'>;
  shown: Omit<components['schemas']['ChannelCreateResult'], 'id'>;
};

type Connected = {
  account: string;
  type: ChannelType;
  url: string | null;
  address: string | null;
  headers: WebhookHeaders;
  format: WebhookFormat;
  nowMs: number;
};

/**
 * Connects a webhook by a test delivery (D-52), or creates the links that connect a Telegram, Slack or email channel
 * later (D-55). Throws 400 unless the test delivery gets a 2xx response, or the mail server accepts the confirmation.
 */
async function connectChannel(
  dependencies: ConfirmationParts & Parts<'sendTestDelivery'>,
  { type, url, address, ...given }: Connected,
): Promise<Connection> {
  if (type === 'webhook') return await connectWebhook(dependencies, { ...given, url: url ?? '' });
  if (type === 'email') return await connectEmail(dependencies, { tenantId: given.account, address: address ?? '' });
  const { config, database } = dependencies;
  const { code, fingerprint, expiresAtSeconds } = generateConnectCode(randomBytes, given.nowMs);
  const stored: Connection['stored'] = { status: 'pending', connectCode: { fingerprint, expiresAtSeconds } };
  if (type === 'slack') {
    const { slackClientId: clientId, publicUrl } = config;
    return {
      stored,
      shown: {
        authorize_url: buildSlackLink({ code, expiresAtSeconds, clientId, publicUrl, seal: database.secrets.seal }),
      },
    };
  }
  const { deepLink, groupDeepLink } = buildTelegramLinks(code, config.telegramBotName);
  return { stored, shown: { deep_link: deepLink, group_deep_link: groupDeepLink } };
}

/** Sends the confirmation that connects an email channel later; throws 400 if it was not accepted. */
async function connectEmail(
  dependencies: ConfirmationParts,
  { tenantId, address }: { tenantId: string; address: string },
): Promise<Connection> {
  const { fingerprint, expiresAtSeconds } = await sendConfirmation(dependencies, { tenantId, address });
  return {
    stored: { status: 'pending', address, connectCode: { fingerprint, expiresAtSeconds } },
    shown: { confirmation_expires_at: expiresAtSeconds },
  };
}

async function connectWebhook(
  { sendTestDelivery, makeId, config }: Parts<'sendTestDelivery' | 'makeId' | 'config'>,
  { account, url, headers, format, nowMs: startedAtMs }: Omit<Connected, 'type' | 'url' | 'address'> & { url: string },
): Promise<Connection> {
  const signingSecret = generateSigningSecret(randomBytes);
  const id = makeId('dlv');
  const { error, attempt, message } = await sendTestDelivery({
    url,
    headers,
    format,
    signingSecret,
    account,
    deliveryId: id,
    publicUrl: config.publicUrl,
  });
  if (error !== null) throw badRequest(error);
  return {
    stored: {
      status: 'connected',
      webhook: { url, headers, format, signingSecret },
      tested: { id, message, startedAtMs, attempt },
    },
    shown: { signing_secret: signingSecret },
  };
}

function presentTags(tags: MonitorTags | null): components['schemas']['MonitorTags'] {
  if (tags === null) return null;
  return 'any' in tags ? { any: [...tags.any] } : { all: [...tags.all] };
}

/** Returns a rule with its fields in reading order: the database stores them in another. */
function presentRule(rule: ChannelRule): components['schemas']['ChannelRule'] {
  const { events, tags, after_seconds, repeat_seconds, repeat_max, unless_acknowledged, quiet } = rule;
  return {
    ...(events && { events: [...events] }),
    ...(tags && { tags: [...tags] }),
    ...(after_seconds !== undefined && { after_seconds }),
    ...(repeat_seconds !== undefined && { repeat_seconds }),
    ...(repeat_max !== undefined && { repeat_max }),
    ...(unless_acknowledged !== undefined && { unless_acknowledged }),
    ...(quiet && { quiet: { timezone: quiet.timezone, hours: quiet.hours, mode: quiet.mode } }),
  };
}

/** Returns a channel for responses, with only the host of a webhook's URL. */
export function presentChannel(channel: Channel): components['schemas']['Channel'] {
  return {
    id: channel.id,
    type: channel.type,
    name: channel.name,
    enabled: channel.enabled,
    created_at: channel.createdAt,
    status: channel.status,
    all_monitors: channel.allMonitors,
    monitor_ids: channel.monitorIds,
    monitor_tags: presentTags(channel.monitorTags),
    url_host: channel.urlHost,
    ...(channel.address !== null && {
      address: channel.address,
      report_timezone: channel.reportTimezone ?? 'UTC',
    }),
    ...(channel.headerNames.length > 0 && { header_names: [...channel.headerNames] }),
    ...formatFields(channel.format),
    team_name: channel.teamName,
    channel_name: channel.channelName,
    ...(channel.type === 'webhook'
      ? { follows_maintenance: channel.followsMaintenance }
      : { reports: channel.wantsReports }),
    ...(channel.groupSeconds > 0 && { group_seconds: channel.groupSeconds }),
    ...(channel.summarizesFlapping && { summarize_flapping: true }),
    ...(channel.rules !== null && {
      rules: channel.rules.map(presentRule),
      rule_sentences: channel.rules.map(describeRule),
    }),
    ...(channel.lastError !== null && { last_error: channel.lastError.text, last_error_at: channel.lastError.at }),
  };
}
