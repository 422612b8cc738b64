import { Router, type RequestHandler } from 'express';
import type { Author } from '../../core/accounts/audit-entry.ts';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { readMonitorCreate } from '../../core/monitors/input/read.ts';
import { SharedCalls } from '../../core/shared-calls.ts';
import {
  MAX_ADDRESSES,
  answerCanary,
  describeAnswer,
  namePeerHeartbeat,
  peerHeartbeatTimes,
  readPeerRequest,
} from '../../core/system/canary.ts';
import { systemAuthorOf, systemActor } from '../../models/accounts/audit-log.ts';
import { findTenant, type Tenant } from '../../models/accounts/tenants.ts';
import type { Database } from '../../models/database.ts';
import { createMonitor, isPlanLimit, resumeMonitor } from '../../models/monitors/monitor-changes.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { sqlStateOf } from '../../models/sql.ts';
import {
  deleteCanaryAddress,
  findPeerHeartbeat,
  isNotifiedOf,
  isTokenOf,
  listCanaryAddresses,
  openCanaryAddress,
  storeCanaryAddress,
} from '../../models/system/canary-addresses.ts';
import { findCanary } from '../../models/system/canary.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { networkOf } from '../client-address.ts';
import type { Parts } from '../handler.ts';
import { PING_PATH } from '../heartbeats/pings.ts';
import { unknownRoute } from '../middleware/error-response.ts';
import { readJson } from '../middleware/json-body.ts';
import { removeMonitor, withSentence } from '../monitors/changes.ts';
import { newHeartbeatContext } from '../monitors/monitor-context.ts';
import { addressOf } from '../request-context.ts';

/** Endpoint for other installations that have an invitation. */
export const PEER_PATH = '/connect/watch';

const MAX_BYTES = 8192;

type RouterParts = Parts<'database' | 'now' | 'makeId' | 'config' | 'logger' | 'rateLimits' | 'onScheduleChange'>;

const USED = 'invitation was used already: make another one with spotcheck watch invite';

/** SQLSTATE of a duplicate row. */
const UNIQUE_VIOLATION = '23505';

/**
 * `POST /connect/watch`: another installation, which has an invitation, gets a heartbeat here and is pinged from here.
 * `DELETE` ends both; the token of its heartbeat identifies the installation.
 */
export function createPeerRouter(dependencies: RouterParts): Router {
  const router = Router({ caseSensitive: true });
  const limit: RequestHandler = async (_request, response, next) => {
    await dependencies.rateLimits.take('watch', networkOf(addressOf(response) ?? ''));
    next();
  };
  router.post('/', limit, ...readJson(MAX_BYTES), joinHandler(dependencies));
  router.delete('/', limit, ...readJson(MAX_BYTES), leaveHandler(dependencies));
  router.use(unknownRoute);
  return router;
}

function joinHandler(dependencies: RouterParts): RequestHandler {
  const { database, now, makeId, config, logger } = dependencies;
  return async (request, response) => {
    const nowMs = now();
    const invitation = openInvitation(textOf(Object(request.body).invitation), database, nowMs);
    if (invitation === null)
      throw badRequest(
        'invitation is not valid: it was made for another installation, more than an hour ago, or by a clock that is ' +
          'ahead. Make another one with spotcheck watch invite',
      );
    const peer = readPeerRequest(request.body);
    if (typeof peer === 'string') throw badRequest(peer);
    const { peerUrl, pingUrl, everySeconds } = peer;
    if (peerUrl === config.publicUrl) throw badRequest('peer_url is this installation: it cannot watch itself');
    const tenant = await findTenant(database, invitation.tenantId);
    if (tenant === null) throw badRequest('the account that was to watch no longer exists');
    const known = await findPeer(database, peerUrl);
    await refuseForeign(database, { invitation, knownId: known?.monitorId ?? null, token: Object(request.body).token });
    if (known === null && (await listCanaryAddresses(database)).length >= MAX_ADDRESSES) throw tooMany();
    const kept = await keepPeerHeartbeat(
      {
        database,
        newId: makeId,
        nowMs,
        author: (action) =>
          systemAuthorOf(systemActor('Spotcheck'), action, { newId: makeId, nowMs, address: addressOf(response) }),
        config,
      },
      { tenant, peerUrl, everySeconds, id: invitation.monitorId },
    ).catch((error: unknown) => {
      // The second of two concurrent requests with one invitation violates the unique constraint.
      if (sqlStateOf(error) === UNIQUE_VIOLATION) throw badRequest(USED);
      if (!isPlanLimit(error)) throw withSentence(error);
      throw badRequest(
        `the ${tenant.plan} plan of the account that was to watch allows at most ` +
          `${PLAN_LIMITS[tenant.plan].monitors} monitors, and it has reached the limit: delete one first`,
      );
    });
    const address = { origin: 'peer', name: peerUrl, monitorId: kept.monitorId, url: pingUrl } as const;
    try {
      if (!(await storeCanaryAddress(database, address, { newId: makeId, nowMs }))) throw tooMany();
    } catch (error) {
      // The other side gets no URL, so nothing would ping the new heartbeat.
      if (kept.isNew)
        await removeHeartbeat(dependencies, { ...kept, from: addressOf(response) }).catch((failure: unknown) =>
          logger.warn({ err: failure, peer: peerUrl, monitor_id: kept.monitorId }, 'watch.heartbeat_left'),
        );
      throw error;
    }
    logger.info({ peer: peerUrl, tenant_id: kept.tenantId, monitor_id: kept.monitorId }, 'watch.joined');
    response.status(201).json({ ping_url: kept.pingUrl, monitor_id: kept.monitorId, is_notified: kept.isNotified });
  };
}

/**
 * Refuses a second use of an invitation, which is valid for one heartbeat. An installation that is watched already gets
 * its heartbeat only if it has its token, or made it with this very invitation.
 */
async function refuseForeign(
  database: RouterParts['database'],
  { invitation, knownId, token }: { invitation: Invitation; knownId: string | null; token: unknown },
): Promise<void> {
  if (knownId === invitation.monitorId) return;
  if ((await findPeerHeartbeat(database, invitation.monitorId)) !== null) throw badRequest(USED);
  if (knownId === null || (await findPeerHeartbeat(database, knownId)) === null) return;
  if (!(await isTokenOf(database, knownId, textOf(token))))
    throw badRequest(
      'an installation of this peer_url is watched already: end that here with spotcheck watch remove, then join again',
    );
}

/** Returns a text, or an empty one for other values. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function tooMany(): ApiError {
  return badRequest(
    `this installation pings ${MAX_ADDRESSES} addresses already: remove one with spotcheck watch remove`,
  );
}

function leaveHandler(dependencies: RouterParts): RequestHandler {
  const { database, logger } = dependencies;
  return async (request, response) => {
    const { peer_url: peerUrl, token } = Object(request.body);
    const peer = await findPeer(database, textOf(peerUrl));
    const monitorId = peer?.monitorId ?? '';
    if (peer === null || !(await isTokenOf(database, monitorId, textOf(token))))
      throw new ApiError(404, 'no installation of this peer_url has a heartbeat with this token here');
    const heartbeat = await findPeerHeartbeat(database, monitorId);
    await deleteCanaryAddress(database, peer.channelId);
    if (heartbeat !== null) await removeHeartbeat(dependencies, { ...heartbeat, monitorId, from: addressOf(response) });
    logger.info({ peer: peerUrl, monitor_id: monitorId }, 'watch.left');
    response.status(204).end();
  };
}

/** Deletes an installation's heartbeat, on a request from an address. */
async function removeHeartbeat(
  dependencies: RouterParts,
  { tenantId, monitorId, from }: { tenantId: string; monitorId: string; from: string | null },
): Promise<void> {
  const made = { newId: dependencies.makeId, nowMs: dependencies.now(), address: from };
  await removeMonitor(dependencies, {
    account: { tenantId, plan: 'free' },
    author: systemAuthorOf(systemActor('Spotcheck'), 'monitor.deleted', made),
    monitorId,
  });
}

/** Time that a response is cached, in milliseconds: more frequent requests cause no queries. */
const HOLDS_MS = 500;

/**
 * `GET /canary`: the target of the canary, whose response has the state that it is to have. It contains no secrets, and
 * needs no token.
 */
export function getCanaryHandler({ database }: Parts<'database'>): RequestHandler {
  let found: { response: ReturnType<typeof describeAnswer>; atMs: number } | null = null;
  const read = new SharedCalls(async () => {
    const canary = await findCanary(database);
    found = { response: describeAnswer(canary && answerCanary(canary)), atMs: performance.now() };
    return found.response;
  });
  return async (_request, response) => {
    const isFresh = found !== null && performance.now() - found.atMs < HOLDS_MS;
    const { status, body } = found !== null && isFresh ? found.response : await read.run();
    response.status(status).set('Cache-Control', 'no-store').type('text/plain').send(body);
  };
}

/**
 * Contents of an invitation: the account that is to watch, and its expiry (Unix seconds). The id of its heartbeat is
 * chosen in advance, so that it is valid for only one.
 */
type Invitation = { tenantId: string; monitorId: string; expiresAt: number };

/** The purpose that invitations are sealed for. */
const PURPOSE = 'watch:invitation';

/** Validity of an invitation, and how far the time of the process that made it may be ahead, in seconds. */
export const INVITATION_SECONDS = 3600;
const CLOCK_AHEAD_SECONDS = 60;

/** Seals an invitation for the operator to pass on. */
export function sealInvitation(invitation: Invitation, { secrets }: Pick<Database, 'secrets'>): string {
  return secrets.seal(JSON.stringify(invitation), PURPOSE);
}

/** Opens an invitation; null if it was not made here, has expired, or would last longer than a new one. */
function openInvitation(sealed: string, { secrets }: Pick<Database, 'secrets'>, nowMs: number): Invitation | null {
  try {
    const invitation: Invitation = JSON.parse(secrets.open(sealed, PURPOSE));
    const leftSeconds = invitation.expiresAt - nowMs / 1000;
    return leftSeconds > 0 && leftSeconds <= INVITATION_SECONDS + CLOCK_AHEAD_SECONDS ? invitation : null;
  } catch {
    return null;
  }
}

/** Dependencies for making heartbeats of peers. */
type PeerParts = {
  database: Database;
  newId: (prefix: IdPrefix) => string;
  nowMs: number;
  author: (action: 'monitor.created' | 'monitor.resumed') => Author;
  config: { publicUrl: string; planCountLimits: boolean; cell?: string | null };
};

/** The heartbeat that watches a peer. `isNotified`: some channel is notified of it; `isNew`: it was just made. */
type KeptHeartbeat = {
  tenantId: string;
  monitorId: string;
  pingUrl: string;
  isNotified: boolean;
  isNew: boolean;
};

/** A peer that this account is to watch, with the id of its heartbeat. */
type NewPeer = { tenant: Tenant; peerUrl: string; everySeconds: number; id?: string };

/**
 * Returns the heartbeat that watches a peer. An existing one is kept as it is, and resumed; otherwise it is made in the
 * account. Throws `MonitorRefusal`, such as beyond the plan's number of monitors.
 */
export async function keepPeerHeartbeat(
  { database, newId, nowMs, author, config }: PeerParts,
  { tenant, peerUrl, everySeconds, id = newId('mon') }: NewPeer,
): Promise<KeptHeartbeat> {
  const { monitorId } = (await findPeer(database, peerUrl)) ?? { monitorId: null };
  const known = monitorId === null ? null : await findPeerHeartbeat(database, monitorId);
  const urlOf = (token: string) => `${config.publicUrl}${PING_PATH}/${token}`;
  if (known !== null) {
    const { tenantId, token, enabled } = known;
    const key = { tenantId, id: known.id };
    if (!enabled) await resumeMonitor(database, { ...key, nowMs, author: author('monitor.resumed') });
    const isNotified = await isNotifiedOf(database, key.id);
    return { tenantId, monitorId: key.id, pingUrl: urlOf(token), isNotified, isNew: false };
  }
  const context = newHeartbeatContext({ monitorId: id, plan: tenant.plan, cell: config.cell ?? null, nowMs });
  const { minIntervalSeconds } = PLAN_LIMITS[tenant.plan];
  const times = peerHeartbeatTimes(everySeconds);
  const read = readMonitorCreate(
    {
      name: namePeerHeartbeat(peerUrl).slice(0, 255),
      type: 'heartbeat',
      ...times,
      interval_seconds: Math.max(times.interval_seconds, minIntervalSeconds),
    },
    context,
  );
  if (!read.ok) throw new Error(`The heartbeat of a peer is not accepted: ${JSON.stringify(read)}`);
  const { settings, secrets } = read.value;
  const heartbeat = {
    id,
    tenantId: tenant.id,
    settings,
    secrets,
    agentIds: [],
    nowMs,
    author: author('monitor.created'),
  };
  await createMonitor(database, heartbeat, config.planCountLimits ? tenant.plan : null);
  return {
    tenantId: tenant.id,
    monitorId: id,
    pingUrl: urlOf(settings.checkSpec.heartbeat?.token ?? ''),
    isNotified: await isNotifiedOf(database, id),
    isNew: true,
  };
}

/** Finds the address of a peer by its base URL; null if there is none. */
export async function findPeer(database: Database, peerUrl: string) {
  return (
    (await listCanaryAddresses(database)).find(({ origin, name }) => origin === 'peer' && name === peerUrl) ?? null
  );
}

/**
 * Returns the token at the end of a peer's address, which identifies this installation there; null if there is none.
 */
export async function readPeerToken(database: Database, channelId: string): Promise<string | null> {
  const url = await openCanaryAddress(database, channelId);
  return url && peerTokenOf(url);
}

/** Returns the token at the end of a peer's address. */
export function peerTokenOf(url: string): string {
  return url.split(`${PING_PATH}/`).at(-1) ?? '';
}
