import { Router, type RequestHandler } from 'express';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { SharedCalls } from '../../core/shared-calls.ts';
import { MOST_ADDRESSES, answerCanary, describeAnswer, readPeerRequest } from '../../core/system/canary.ts';
import { authorOf, systemActor } from '../../models/accounts/audit-log.ts';
import { findTenant } from '../../models/accounts/tenants.ts';
import { sqlStateOf } from '../../models/sql.ts';
import { deleteCanaryAddress, listCanaryAddresses, storeCanaryAddress } from '../../models/system/canary-addresses.ts';
import { findCanary } from '../../models/system/canary.ts';
import { findPeerHeartbeat, isTokenOf } from '../../models/system/peers.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { networkOf } from '../client-address.ts';
import type { Parts } from '../handler.ts';
import { unknownRoute } from '../middleware/error-response.ts';
import { readJson } from '../middleware/json-body.ts';
import { removeMonitor } from '../monitors/changes.ts';
import { addressOf } from '../request-context.ts';
import { findPeer, keepPeerHeartbeat, openInvitation, type Invitation } from './peer-heartbeats.ts';

/** Where other installations come with an invitation. */
export const PEER_PATH = '/connect/watch';

const MAX_BYTES = 8192;

type PeerParts = Parts<'database' | 'now' | 'makeId' | 'config' | 'logger' | 'rateLimits' | 'onScheduleChange'>;

const USED = 'invitation was used already: make another one with spotcheck watch invite';

/** SQLSTATE of a row that is there already. */
const UNIQUE_VIOLATION = '23505';

/**
 * `POST /connect/watch`: another installation, which has an invitation, gets a heartbeat here and is pinged from here.
 * `DELETE` ends both; the token of its heartbeat proves which installation it is.
 */
export function createPeerRouter(dependencies: PeerParts): Router {
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

function joinHandler({ database, now, makeId, config, logger }: PeerParts): RequestHandler {
  return async (request, response) => {
    const nowMs = now();
    const invitation = openInvitation(String(Object(request.body).invitation), database, nowMs);
    if (invitation === null)
      throw badRequest(
        'invitation is not valid: it was made for another installation, or more than an hour ago. Make another one ' +
          'with spotcheck watch invite',
      );
    const peer = readPeerRequest(request.body);
    if (typeof peer === 'string') throw badRequest(peer);
    const { peerUrl, pingUrl, everySeconds } = peer;
    if (peerUrl === config.publicUrl) throw badRequest('peer_url is this installation: it cannot watch itself');
    const tenant = await findTenant(database, invitation.tenantId);
    if (tenant === null) throw badRequest('the account that was to watch no longer exists');
    const known = await findPeer(database, peerUrl);
    await refuseForeign(database, { invitation, knownId: known?.monitorId ?? null, token: Object(request.body).token });
    if (known === null && (await listCanaryAddresses(database)).length >= MOST_ADDRESSES) throw tooMany();
    const kept = await keepPeerHeartbeat(
      {
        database,
        newId: makeId,
        nowMs,
        author: (action) => ({
          ...authorOf(systemActor('Spotcheck'), action, { newId: makeId, nowMs }),
          address: addressOf(response),
        }),
        config,
      },
      { tenant, peerUrl, everySeconds, id: invitation.monitorId },
    ).catch((error: unknown) => {
      // Of two requests with one invitation the second came a moment later.
      throw sqlStateOf(error) === UNIQUE_VIOLATION ? badRequest(USED) : error;
    });
    if (kept === null)
      throw badRequest(
        `the ${tenant.plan} plan of the account that was to watch allows at most ` +
          `${PLAN_LIMITS[tenant.plan].monitors} monitors, and it has reached the limit: delete one first`,
      );
    const address = { origin: 'peer', name: peerUrl, monitorId: kept.monitorId, url: pingUrl } as const;
    if (!(await storeCanaryAddress(database, address, { newId: makeId, nowMs }))) throw tooMany();
    logger.info({ peer: peerUrl, tenant_id: kept.tenantId, monitor_id: kept.monitorId }, 'watch.joined');
    response.status(201).json({ ping_url: kept.pingUrl, monitor_id: kept.monitorId, is_notified: kept.isNotified });
  };
}

/**
 * An invitation is good for one heartbeat. That of an installation which is watched already is given only to who knows
 * its token, or made it by this very invitation.
 */
async function refuseForeign(
  database: PeerParts['database'],
  { invitation, knownId, token }: { invitation: Invitation; knownId: string | null; token: unknown },
): Promise<void> {
  if (knownId === invitation.monitorId) return;
  if ((await findPeerHeartbeat(database, invitation.monitorId)) !== null) throw badRequest(USED);
  if (knownId === null || (await findPeerHeartbeat(database, knownId)) === null) return;
  if (!(await isTokenOf(database, knownId, String(token))))
    throw badRequest(
      'an installation of this peer_url is watched already: end that here with spotcheck watch remove, then join again',
    );
}

function tooMany(): ApiError {
  return badRequest(
    `this installation pings ${MOST_ADDRESSES} addresses already: remove one with spotcheck watch remove`,
  );
}

function leaveHandler(dependencies: PeerParts): RequestHandler {
  const { database, now, makeId, logger } = dependencies;
  return async (request, response) => {
    const { peer_url: peerUrl, token } = Object(request.body);
    const peer = await findPeer(database, String(peerUrl));
    const monitorId = peer?.monitorId ?? '';
    if (peer === null || !(await isTokenOf(database, monitorId, String(token))))
      throw new ApiError(404, 'no installation of this peer_url has a heartbeat with this token here');
    const heartbeat = await findPeerHeartbeat(database, monitorId);
    await deleteCanaryAddress(database, peer.channelId);
    if (heartbeat !== null) {
      const author = authorOf(systemActor('Spotcheck'), 'monitor.deleted', { newId: makeId, nowMs: now() });
      await removeMonitor(dependencies, {
        account: { tenantId: heartbeat.tenantId, plan: 'free' },
        author: { ...author, address: addressOf(response) },
        monitorId,
      });
    }
    logger.info({ peer: peerUrl, monitor_id: monitorId }, 'watch.left');
    response.status(204).end();
  };
}

/** How long an answer holds, in milliseconds: whoever asks more often costs no query. */
const HOLDS_MS = 500;

/**
 * `GET /canary`: the target of the canary, which says what state it is to have. It holds nothing secret, and needs no
 * token.
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
