import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { Ping } from '../../core/heartbeats/deadlines.ts';
import { readMonitorCreate } from '../../core/monitors/input/read.ts';
import { createBatched } from '../../core/shared-calls.ts';
import { DAY_SECONDS } from '../../core/time.ts';
import { systemAuthorOf, systemActor } from '../../models/accounts/audit-log.ts';
import type { AccountPing, TokenPing } from '../../models/heartbeats/heartbeats.ts';
import {
  createHeartbeats,
  deletePingKey,
  findPingKey,
  findSlugs,
  generatePingKey,
  replacePingKey,
  type FoundSlug,
  type NewHeartbeat,
  type SlugKey,
} from '../../models/heartbeats/slugs.ts';
import { ApiError, accept, badRequest } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { acceptStored, explainPlanLimit } from '../monitors/changes.ts';
import { newHeartbeatContext } from '../monitors/monitor-context.ts';
import { authorOf, callerOf } from '../request-context.ts';
import { createBatches } from './ping-storage.ts';

/** A ping by slug: its heartbeat, whether to create it if missing, and the client's address. */
type SlugPing = SlugKey & { creates: boolean; address: string | null };

/** Prefix of ping keys, which may replace the token in a path. */
export const PING_KEY_PREFIX = 'spp_';

const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Schedule of a heartbeat that a ping creates, until it is edited: a ping a day, an hour late at most (D-558). */
const MADE = { interval_seconds: DAY_SECONDS, grace_seconds: 3600 } as const;

type Wanted = Omit<FoundSlug, 'token'> & { slug: string; address: string | null };

/**
 * Token of a heartbeat that was made or found; null beyond the plan's number of monitors; or the error that refuses it.
 */
type Made = { token: string | null } | { error: unknown };

type SlugParts = Parts<'database' | 'now' | 'makeId' | 'config' | 'rateLimits' | 'unstoredPings'> & {
  store: (ping: TokenPing) => Promise<AccountPing>;
};

/** Throws 400 for a value that cannot be a heartbeat's slug. */
export function requireSlug(slug: string): void {
  if (!SLUG.test(slug))
    throw badRequest(
      'the slug must be 1 to 64 lower-case letters, digits, hyphens and underscores, and begin with a letter or a ' +
        'digit',
    );
}

/**
 * Makes the function that takes pings by ping key and slug (D-557). With `creates` they make their heartbeat if the
 * account has none with the slug: concurrent first pings are made in one transaction per account. The outcome is
 * `unknown` if no account has the key. Rejects with 404 if there is no such heartbeat and none is to be made, with 400
 * beyond the plan, and with 429 if the account makes too many.
 */
export function createSlugPings(parts: SlugParts): (slugPing: SlugPing, ping: Ping) => Promise<AccountPing> {
  const { database, store, unstoredPings } = parts;
  const find = createBatched((keys: SlugKey[]) => findSlugs(database, keys));
  const make = createBatches((wanted: readonly Wanted[]) => makeHeartbeats(parts, wanted));
  return async ({ key, slug, creates, address }, ping) => {
    const found = await unstoredPings.follow(find({ key, slug }));
    if (found === null) return { outcome: 'unknown', tenantId: null };
    if (found.token === null && !creates) throw missing();
    const made = found.token === null ? await make({ ...found, slug, address }) : { token: found.token };
    if ('error' in made) throw made.error;
    if (made.token === null) throw badRequest(explainPlanLimit(found.plan));
    const taken = await store({ token: made.token, ping });
    // The key is known, so the monitor has just been deleted.
    if (taken.outcome === 'unknown') throw missing();
    return taken;
  };
}

function missing(): ApiError {
  return new ApiError(404, 'this account has no heartbeat with this slug: ping with ?create=1 to make it');
}

/** Makes the wanted heartbeats, in one transaction per account; a refused one does not affect other accounts. */
async function makeHeartbeats(parts: SlugParts, wanted: readonly Wanted[]): Promise<Made[]> {
  const made = new Map<string, ReadonlyMap<string, string> | { error: unknown }>();
  for (const [tenantId, ofTenant] of Map.groupBy(wanted, (each) => each.tenantId))
    made.set(tenantId, await makeOfTenant(parts, tenantId, ofTenant));
  return wanted.map(({ tenantId, slug }) => {
    const tokens = made.get(tenantId);
    if (tokens === undefined || 'error' in tokens) return tokens ?? { token: null };
    return { token: tokens.get(slug) ?? null };
  });
}

async function makeOfTenant(
  parts: SlugParts,
  tenantId: string,
  wanted: readonly Wanted[],
): Promise<ReadonlyMap<string, string> | { error: unknown }> {
  const { database, now, config, rateLimits } = parts;
  const firsts = [...new Map(wanted.toReversed().map((each) => [each.slug, each])).values()].toReversed();
  const limit = config.planCountLimits && wanted[0] !== undefined ? PLAN_LIMITS[wanted[0].plan].monitors : null;
  try {
    await rateLimits.take('slug', tenantId, firsts.length);
    const heartbeats = firsts.map((each) => newHeartbeat(parts, each));
    return await acceptStored(createHeartbeats(database, { tenantId, wanted: heartbeats, nowMs: now() }, limit));
  } catch (error) {
    return { error };
  }
}

function newHeartbeat({ makeId, now, config }: SlugParts, { slug, plan, address }: Wanted): NewHeartbeat {
  const id = makeId('mon');
  const context = newHeartbeatContext({ monitorId: id, plan, cell: config.cell ?? null, nowMs: now() });
  const { settings } = accept(readMonitorCreate({ name: slug, type: 'heartbeat', ...MADE }, context));
  const heartbeat = { ...settings.checkSpec.heartbeat, slug };
  const author = systemAuthorOf(systemActor('Ping key'), 'monitor.created', { newId: makeId, nowMs: now(), address });
  return { id, slug, settings: { ...settings, checkSpec: { heartbeat } }, author };
}

/** `GET /ping-key` */
export function getPingKeyHandler({ database }: Parts<'database'>): Handler<'getPingKey'> {
  return async (_request, response) => {
    const { tenantId, scopes } = callerOf(response);
    const found = await findPingKey(database, tenantId);
    response.setHeader('Cache-Control', 'no-store');
    response.json({
      ping_key: found && { ...(scopes.includes('write') && { key: found.key }), created_at: found.createdAt },
    });
  };
}

/** `POST /ping-key` */
export function replacePingKeyHandler({
  database,
  makeId,
  now,
  rateLimits,
  config,
}: Parts<'database' | 'makeId' | 'now' | 'rateLimits' | 'config'>): Handler<'replacePingKey'> {
  return async (_request, response) => {
    const { tenantId } = callerOf(response);
    await rateLimits.take('token', tenantId);
    const { key, createdAt } = await replacePingKey(database, {
      tenantId,
      id: makeId('pky'),
      key: generatePingKey(config.cell ?? null),
      nowMs: now(),
      author: authorOf(response),
    });
    response.setHeader('Cache-Control', 'no-store');
    response.status(201).json({ ping_key: { key, created_at: createdAt } });
  };
}

/** `DELETE /ping-key` */
export function deletePingKeyHandler({ database }: Parts<'database'>): Handler<'deletePingKey'> {
  return async (_request, response) => {
    if (!(await deletePingKey(database, { tenantId: callerOf(response).tenantId, author: authorOf(response) })))
      throw new ApiError(404, 'this account has no ping key: create one with POST /v1/ping-key');
    response.status(204).end();
  };
}
