import type { AuditEntry } from '../../core/accounts/audit-entry.ts';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { listAuditLog } from '../../models/accounts/audit-log.ts';
import { countUsage, renameTenant } from '../../models/accounts/tenants.ts';
import { badRequest, conflict, requirePlainName } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { cutPage, readPage, requireWholeNumbers } from '../pagination.ts';
import { authorOf, callerOf, personOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** `PATCH /account` */
export function updateAccountHandler({ database }: Parts<'database'>): Handler<'updateAccount'> {
  return async (request, response) => {
    const { tenant } = personOf(response);
    const name = requirePlainName('name', request.body.name).trim();
    if (!(await renameTenant(database, { id: tenant.id, name, author: authorOf(response) })))
      throw conflict('name is already used by another account: choose a different one');
    response.json({ id: tenant.id, name, plan: tenant.plan });
  };
}

/** `GET /usage` */
export function getUsageHandler({ database, config, now }: Parts<'database' | 'config' | 'now'>): Handler<'getUsage'> {
  return async (_request, response) => {
    const { tenantId, plan } = callerOf(response);
    const limits = PLAN_LIMITS[plan];
    const used = await countUsage(database, tenantId, now());
    const usage: components['schemas']['Usage'] = {
      plan,
      limits: {
        monitors: config.planCountLimits ? limits.monitors : null,
        own_agents: config.planCountLimits ? limits.ownAgents : null,
        tokens: limits.tokens,
        requests_per_minute: limits.requestsPerMinute,
        min_interval_seconds: limits.minIntervalSeconds,
        result_days: limits.resultDays,
      },
      used: {
        monitors: used.monitors,
        own_agents: used.ownAgents,
        tokens: used.tokens,
        channels: used.channels,
        members: used.members,
      },
    };
    response.json(usage);
  };
}

/** Default number of entries in a page: the log is unbounded (D-05). */
const DEFAULT_LIMIT = 100;

/** `GET /audit-log` */
export function listAuditLogHandler({ database, config }: Parts<'database' | 'config'>): Handler<'listAuditLog'> {
  return async (request, response) => {
    const page = readPage(request);
    requireWholeNumbers(request, ['from', 'to']);
    const limit = page.limit ?? DEFAULT_LIMIT;
    const { actor_id: actorId, action, object_kind: objectKind, object_id: objectId, from, to } = request.query;
    if (from !== undefined && to !== undefined && from > to)
      throw badRequest(`from must not be later than to, got ${from} and ${to}`);
    const entries = await listAuditLog(database, {
      tenantId: personOf(response).tenantId,
      filter: {
        ...(actorId !== undefined && { actorId }),
        ...(action && { action }),
        ...(objectKind && { objectKind }),
        ...(objectId !== undefined && { objectId }),
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
      },
      ...(page.after && { before: page.after }),
      limit: limit + 1,
    });
    const shown = cutPage(
      entries,
      { limit, positionOf: ({ at, id }) => ({ at, id }) },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ entries: shown.map(presentAuditEntry) });
  };
}

function presentAuditEntry({
  id,
  at,
  actor,
  action,
  object,
  changes,
  address,
}: AuditEntry): components['schemas']['AuditEntry'] {
  return {
    id,
    at,
    actor,
    action,
    object,
    changes: { ...changes } as components['schemas']['AuditEntry']['changes'],
    address,
  };
}
