import type { AuditActor } from '../../core/accounts/audit-entry.ts';
import type { Plan } from '../../core/accounts/plans.ts';
import { ROLE_SCOPES, type Role, type Scope } from '../../core/accounts/roles.ts';
import {
  MAX_AT_ONCE,
  type BulkAction,
  type BulkOrder,
  type BulkProgress,
  type BulkResult,
  type BulkStatus,
} from '../../core/monitors/bulk.ts';
import { notifyChange } from '../changes.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';

/** Maximum number of unfinished jobs of an account. */
export const MAX_JOBS = 3;

/**
 * Number of finished changes that an account keeps: jobs, and results with idempotency keys. The oldest are deleted
 * first.
 */
const KEPT_JOBS = 20;
const KEPT_ANSWERS = 100;

/** Time that a killed process delays the changes it was working on, in milliseconds. */
const CLAIM_MS = 20_000;

/** Minimum interval between announcements of a job's progress, in milliseconds, except at its end. */
const NOTIFY_EVERY_MS = 500;

/** A stored bulk change. Times are Unix milliseconds. */
export type BulkChange = BulkProgress & {
  no: number;
  id: string;
  action: BulkAction;
  status: BulkStatus;
  createdAtMs: number;
  finishedAtMs: number | null;
};

/** The person or token that requested the change. */
type BulkActor = AuditActor & { kind: 'user' | 'token'; id: string };

/** A selected monitor; `name` null = the account has no such monitor. */
export type Selected = { monitorId: string; name: string | null };

type NewBulkChange = {
  id: string;
  tenantId: string;
  /** The idempotency key, and the fingerprint of its request; null = none. */
  key: { text: string; requestHash: Buffer } | null;
  order: BulkOrder;
  actor: BulkActor;
  address: string | null;
  monitors: readonly Selected[];
  nowMs: number;
};

const COLUMNS = `no, id, action, status, total, done, succeeded, failed, created_at AS "createdAtMs",
  finished_at AS "finishedAtMs"`;

/** Returns the context that a patch is sealed with. */
export function patchContext(id: string): string {
  return `bulk:${id}:patch`;
}

/**
 * Stores a change with its selection. The caller makes one of at most `MAX_AT_ONCE` monitors, which continues as a job
 * if the caller does not; a larger one is a job. Stores nothing and returns `busy` if the account has reached its limit
 * of jobs, `known` if its key is taken.
 */
export async function insertBulkChange(
  database: Database,
  change: NewBulkChange,
): Promise<BulkChange | 'busy' | 'known'> {
  const { id, tenantId, key, order, actor, address, monitors, nowMs } = change;
  const isJob = monitors.length > MAX_AT_ONCE;
  return await inTransaction(database, async (run) => {
    // The lock makes concurrent requests count one after the other, each after the previous one has stored its job.
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    if (isJob && (await countJobs(run, tenantId)) >= MAX_JOBS) return 'busy';
    const { action, ...rest } = order;
    const [stored] = await run<BulkChange>(
      `INSERT INTO bulk_changes (id, tenant_id, idempotency_key, request_hash, action, sealed_patch, actor_kind,
         actor_id, actor_name, address, status, total, created_at, served_at, claimed_until)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14)
       ON CONFLICT (tenant_id, idempotency_key) DO NOTHING RETURNING ${COLUMNS}`,
      [
        id,
        tenantId,
        key?.text ?? null,
        key?.requestHash ?? null,
        action,
        database.secrets.seal(JSON.stringify(rest), patchContext(id)),
        actor.kind,
        actor.id,
        actor.name,
        address,
        isJob ? 'queued' : 'running',
        monitors.length,
        nowMs,
        isJob ? 0 : nowMs + CLAIM_MS,
      ],
    );
    if (stored === undefined) return 'known';
    await run(
      `INSERT INTO bulk_results (change_no, position, monitor_id, name)
       SELECT $1, position, id, name FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS m (id, name, position)`,
      [stored.no, monitors.map(({ monitorId }) => monitorId), monitors.map(({ name }) => name)],
    );
    await run(
      `DELETE FROM bulk_changes WHERE no IN (SELECT no FROM bulk_changes WHERE tenant_id = $1 AND status = 'done'
         AND (total > $2) = $3 ORDER BY no DESC OFFSET $4)`,
      [tenantId, MAX_AT_ONCE, isJob, isJob ? KEPT_JOBS : KEPT_ANSWERS],
    );
    return stored;
  });
}

async function countJobs(run: Run, tenantId: string): Promise<number> {
  const [row] = await run<{ count: number }>(
    `SELECT count(*) FROM bulk_changes WHERE tenant_id = $1 AND status <> 'done' AND total > $2`,
    [tenantId, MAX_AT_ONCE],
  );
  return row?.count ?? 0;
}

/** Finds a tenant's job; null if it has none with this id. */
export async function findBulkJob(
  database: Pick<Database, 'pool'>,
  { tenantId, id }: RowKey,
): Promise<BulkChange | null> {
  const [found] = await runOn(database.pool)<BulkChange>(
    `SELECT ${COLUMNS} FROM bulk_changes WHERE id = $1 AND tenant_id = $2 AND total > $3`,
    [id, tenantId, MAX_AT_ONCE],
  );
  return found ?? null;
}

/**
 * Finds the change that a tenant has requested with an idempotency key, with the fingerprint of that request; null =
 * none.
 */
export async function findKeyedChange(
  database: Pick<Database, 'pool'>,
  { tenantId, key }: { tenantId: string; key: string },
): Promise<(BulkChange & { requestHash: Buffer }) | null> {
  const [found] = await runOn(database.pool)<BulkChange & { requestHash: Buffer }>(
    `SELECT ${COLUMNS}, request_hash AS "requestHash" FROM bulk_changes WHERE tenant_id = $1 AND idempotency_key = $2`,
    [tenantId, key],
  );
  return found ?? null;
}

/** A result and its position in its change, from 1. */
type PositionedResult = BulkResult & { position: number };

/** Lists the results of finished monitors after a position, in the order of their selection. */
export async function listBulkResults(
  database: Pick<Database, 'pool'>,
  { change, failed, after, limit }: { change: BulkChange; failed?: boolean; after: number; limit: number },
): Promise<PositionedResult[]> {
  return await runOn(database.pool)<PositionedResult>(
    `SELECT position, monitor_id AS "monitorId", name, status, error FROM bulk_results
     WHERE change_no = $1 AND position > $2 AND status IS NOT NULL AND ($3::boolean IS NULL OR (error IS NOT NULL) = $3)
     ORDER BY position LIMIT $4`,
    [change.no, after, failed ?? null, limit],
  );
}

/** A change that this process is to continue. `openOrder` opens the patch. */
export type ClaimedChange = BulkChange & {
  tenantId: string;
  sealedPatch: string;
  actor: BulkActor;
  address: string | null;
};

/**
 * Claims the unfinished change that has waited longest and that no process is working on; null if there is none. A
 * claim far in the future is ignored: a clock was set back.
 */
export async function claimBulkChange(database: Pick<Database, 'pool'>, nowMs: number): Promise<ClaimedChange | null> {
  type Row = Omit<ClaimedChange, 'actor'> & { actorKind: 'user' | 'token'; actorId: string; actorName: string };
  const [row] = await runOn(database.pool)<Row>(
    `UPDATE bulk_changes SET status = 'running', served_at = $1, claimed_until = $1::bigint + $2
     WHERE no = (SELECT no FROM bulk_changes WHERE status <> 'done' AND claimed_until NOT BETWEEN $1::bigint + 1
       AND $1::bigint + $2 ORDER BY served_at LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING ${COLUMNS}, tenant_id AS "tenantId", sealed_patch AS "sealedPatch", actor_kind AS "actorKind",
       actor_id AS "actorId", actor_name AS "actorName", address`,
    [nowMs, CLAIM_MS],
  );
  if (row === undefined) return null;
  const { actorKind, actorId, actorName, ...change } = row;
  return { ...change, actor: { kind: actorKind, id: actorId, name: actorName } };
}

/** Opens the order of a claimed change. Throws if no key of the ring opens it. */
export function openOrder({ secrets }: Database, { id, action, sealedPatch }: ClaimedChange): BulkOrder {
  const rest: Omit<BulkOrder, 'action'> = JSON.parse(secrets.open(sealedPatch, patchContext(id)));
  return { ...rest, action };
}

/** A monitor that is not changed yet. */
export type OpenStep = Selected & { position: number };

/** Lists the next monitors of a change without a result. */
export async function listOpenSteps(
  database: Pick<Database, 'pool'>,
  { change, limit }: { change: Pick<BulkChange, 'no'>; limit: number },
): Promise<OpenStep[]> {
  return await runOn(database.pool)<OpenStep>(
    `SELECT position, monitor_id AS "monitorId", name FROM bulk_results WHERE change_no = $1 AND status IS NULL
     ORDER BY position LIMIT $2`,
    [change.no, limit],
  );
}

/** The result of a step to record; `error` null = success. */
type StepOutcome = { change: Pick<BulkChange, 'no'>; position: number; status: number; error: string | null };

/**
 * Records the result of a monitor; false if it is recorded already, for the same step in another process. The
 * transaction's commit does not wait for the disk: a crash of PostgreSQL undoes the change together with its record,
 * and the end of each batch waits for all of it.
 */
export async function recordStep(run: Run, { change, position, status, error }: StepOutcome): Promise<boolean> {
  const recorded = await run(
    {
      name: 'record-bulk-step',
      text: `UPDATE bulk_results SET status = $3, error = $4 WHERE change_no = $1 AND position = $2 AND status IS NULL
             RETURNING set_config('synchronous_commit', 'off', true)`,
    },
    [change.no, position, status, error],
  );
  return recorded.length > 0;
}

/** Records the same failure for all monitors without a result, which are not changed any more. */
export async function failOpenSteps(
  database: Pick<Database, 'pool'>,
  { change, status, error }: { change: Pick<BulkChange, 'no'>; status: number; error: string },
): Promise<void> {
  await runOn(database.pool)(
    'UPDATE bulk_results SET status = $2, error = $3 WHERE change_no = $1 AND status IS NULL',
    [change.no, status, error],
  );
}

/**
 * Updates the counts of a change, releases its claim, and finishes it if all monitors have a result. The progress of a
 * job is announced to its account.
 */
export async function settleBulkChange(
  database: Database,
  { no }: Pick<BulkChange, 'no'>,
  nowMs: number,
): Promise<BulkChange> {
  return await inTransaction(database, async (run) => {
    const [settled] = await run<BulkChange & { tenantId: string; isNotified: boolean }>(
      `WITH counted AS (
         SELECT count(status)::int AS over, count(error)::int AS refused FROM bulk_results WHERE change_no = $1
       )
       UPDATE bulk_changes b SET done = c.over, failed = c.refused, succeeded = c.over - c.refused, claimed_until = 0,
         status = CASE WHEN c.over = b.total THEN 'done' ELSE 'running' END,
         finished_at = CASE WHEN c.over = b.total THEN coalesce(b.finished_at, $2::bigint) END,
         sealed_patch = CASE WHEN c.over < b.total THEN b.sealed_patch END,
         notified_at = CASE WHEN c.over = b.total OR $2::bigint - b.notified_at NOT BETWEEN 0 AND $3 THEN $2::bigint
           ELSE b.notified_at END
       FROM counted c WHERE b.no = $1
       RETURNING ${COLUMNS}, b.tenant_id AS "tenantId",
         b.notified_at = $2::bigint AS "isNotified"`,
      [no, nowMs, NOTIFY_EVERY_MS - 1],
    );
    if (settled === undefined) throw new Error(`There is no bulk change ${no} to settle`);
    const { tenantId, isNotified, ...change } = settled;
    if (isNotified && change.total > MAX_AT_ONCE) await notifyChange(run, { tenantId, kind: 'bulk', id: change.id });
    return change;
  });
}

/**
 * Returns the current scopes of the requester of a change, and the plan of the account. Null if the token has ended or
 * the person is no longer a member.
 */
export async function findBulkActor(
  database: Pick<Database, 'pool'>,
  { tenantId, actor }: Pick<ClaimedChange, 'tenantId' | 'actor'>,
  nowMs: number,
): Promise<{ plan: Plan; scopes: readonly Scope[] } | null> {
  const [found] = await runOn(database.pool)<{ plan: Plan; scopes: Scope[] | null; role: Role | null }>(
    actor.kind === 'token'
      ? `SELECT n.plan, t.scopes, NULL AS role FROM api_tokens t JOIN tenants n ON n.id = t.tenant_id
         WHERE t.id = $1 AND t.tenant_id = $2 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > $3)`
      : `SELECT n.plan, NULL AS scopes, u.role FROM users u JOIN tenants n ON n.id = u.tenant_id
         WHERE u.id = $1 AND u.tenant_id = $2 AND $3 > 0`,
    [actor.id, tenantId, Math.floor(nowMs / 1000)],
  );
  if (found === undefined) return null;
  const { plan, scopes, role } = found;
  return { plan, scopes: scopes ?? (role === null ? [] : ROLE_SCOPES[role]) };
}

/** Deletes changes of all accounts that were requested before a time; returns their number. */
export async function deleteOldBulkChanges(database: Pick<Database, 'pool'>, beforeMs: number): Promise<number> {
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM bulk_changes WHERE created_at <= $1 RETURNING 1) SELECT count(*) AS deleted FROM gone',
    [beforeMs],
  );
  return row?.deleted ?? 0;
}

/** Returns the progress of those of `ids` that are jobs of the tenant, in no order. */
export async function listBulkProgress(
  database: Pick<Database, 'pool'>,
  { tenantId, ids }: { tenantId: string; ids: readonly string[] },
): Promise<(Pick<BulkChange, 'id' | 'status'> & BulkProgress)[]> {
  return await runOn(database.pool)<Pick<BulkChange, 'id' | 'status'> & BulkProgress>(
    `SELECT id, status, total, done, succeeded, failed FROM bulk_changes WHERE id = ANY($1::text[]) AND tenant_id = $2`,
    [ids, tenantId],
  );
}
