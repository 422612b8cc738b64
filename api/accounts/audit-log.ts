import type { AuditEntry } from '../../core/accounts/audit-entry.ts';
import { listAuditLog } from '../../models/accounts/audit-log.ts';
import { badRequest } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { cutPage, readPage, requireWholeNumbers } from '../pagination.ts';
import { personOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** How many entries come when the caller sets no limit: the log has no end (D-05). */
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

/** An entry of the audit log. */
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
