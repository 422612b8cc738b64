import type { Request } from 'express';
import { cleanText } from '../core/clean-text.ts';
import { OPERATOR, recordChange } from '../models/audit-log.ts';
import type { Database } from '../models/database.ts';
import type { IdPrefix } from '../models/ids.ts';
import { personName } from '../models/recorded-fields.ts';
import { runOn } from '../models/sql.ts';
import type { User } from '../models/user-row.ts';
import { listOperatorTenants } from '../models/users.ts';

type Means = { database: Pick<Database, 'pool'>; makeId: (prefix: IdPrefix) => string; now: () => number };

/** A request to the board and its author; `user` null = a holder of the board's password. */
type BoardRequest = { request: Request; user: User | null; address: string | null };

/**
 * Where the board changes something: all queues, or one and a job or scheduler of it. As the board's router reads
 * paths, in any case and with a slash behind.
 */
const ACTION = /^\/api\/queues\/(?:(?<every>pause|resume)|(?<queue>[^/]+)\/(?<action>.+?))\/?$/i;

const LONGEST_NAME = 100;

/**
 * Records an action on a queue at the board before it is done, in the audit log of the operator's account. By the
 * board's password no operator is known: that is recorded in the log of every account with one. Payloads of jobs are
 * not recorded, for they may hold anything.
 */
export async function recordBoardAction(means: Means, { request, user, address }: BoardRequest): Promise<void> {
  const { database, makeId, now } = means;
  const { every, queue = '', action = '' } = ACTION.exec(request.path)?.groups ?? {};
  if (every === undefined && queue === '') return;
  const [id, done] = every === undefined ? [decoded(queue), `${request.method} ${decoded(action)}`] : ['all', every];
  const object = { kind: 'queue', id, name: every === undefined ? id : 'All queues' } as const;
  const actor = user === null ? OPERATOR : { kind: 'user' as const, id: user.id, name: personName(user) };
  const tenantIds = user === null ? await listOperatorTenants(database) : [user.tenantId];
  for (const tenantId of tenantIds) {
    const author = { id: makeId('aud'), action: 'queue.changed' as const, actor, address, nowMs: now() };
    await recordChange(runOn(database.pool), { author }, { tenantId, object, changes: { action: [null, done] } });
  }
}

/** A part of a path as text; throws a URIError, which is answered with 400, where it is none. */
function decoded(part: string): string {
  return cleanText(decodeURIComponent(part), LONGEST_NAME);
}
