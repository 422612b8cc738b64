import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/** A due monthly drill. Times are Unix milliseconds; `fromMs` is when it was enabled. */
export type DueDrill = { monitorNo: number; monitorId: string; tenantId: string; fromMs: number };

/** Maximum number of monthly drills started in an account within a day; the others wait for their turn. */
const MAX_MONTHLY_A_DAY = 50;

/** Lists monitors whose monthly drill was enabled since, ordered by number. */
export async function listNewMonthly(database: Pick<Database, 'pool'>, limit: number): Promise<number[]> {
  const rows = await runOn(database.pool)<{ no: number }>(
    `SELECT m.no FROM monitors m
     WHERE m.monthly_drill AND NOT EXISTS (SELECT FROM monthly_drills d WHERE d.monitor_no = m.no)
     ORDER BY m.no LIMIT $1`,
    [limit],
  );
  return rows.map(({ no }) => no);
}

/** Plans the first monthly drill of monitors; skips deleted ones. */
export async function insertMonthly(
  run: Run,
  { monitorNos, fromMs, nextMs }: { monitorNos: readonly number[]; fromMs: number; nextMs: number },
): Promise<void> {
  await run(
    `INSERT INTO monthly_drills (monitor_no, from_at, next_at)
     SELECT m.no, $2, $3 FROM monitors m WHERE m.no = ANY ($1::int[]) AND m.monthly_drill ORDER BY m.no
     ON CONFLICT DO NOTHING`,
    [monitorNos, fromMs, nextMs],
  );
}

/** Deletes the plans of monitors whose monthly drill was disabled; returns their number. */
export async function deleteEndedMonthly(run: Run): Promise<number> {
  const rows = await run<{ no: number }>(
    `DELETE FROM monthly_drills d USING monitors m WHERE m.no = d.monitor_no AND NOT m.monthly_drill
     RETURNING m.no`,
  );
  return rows.length;
}

/** Lists the due monthly drills, the longest due first, of accounts below the daily limit. */
export async function listDueMonthly(
  database: Pick<Database, 'pool'>,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<DueDrill[]> {
  return await runOn(database.pool)<DueDrill>(
    `SELECT d.monitor_no AS "monitorNo", m.id AS "monitorId", m.tenant_id AS "tenantId", d.from_at AS "fromMs"
     FROM monthly_drills d JOIN monitors m ON m.no = d.monitor_no
     WHERE d.next_at <= $1 AND m.monthly_drill
       AND (SELECT count(*) FROM drills r WHERE r.tenant_id = m.tenant_id AND r.is_monthly
         AND r.started_at > $1::bigint - ${DAY_MS}) < ${MAX_MONTHLY_A_DAY}
     ORDER BY d.next_at, d.monitor_no LIMIT $2`,
    [nowMs, limit],
  );
}

/** Reports whether an account may start another monthly drill, as in `listDueMonthly`. */
export async function mayBeginMonthly(
  database: Pick<Database, 'pool'>,
  { tenantId, nowMs }: { tenantId: string; nowMs: number },
): Promise<boolean> {
  const [row] = await runOn(database.pool)<{ count: number }>(
    `SELECT count(*)::int AS count FROM drills
     WHERE tenant_id = $1 AND is_monthly AND started_at > $2::bigint - ${DAY_MS}`,
    [tenantId, nowMs],
  );
  return (row?.count ?? 0) < MAX_MONTHLY_A_DAY;
}

/** Moves a due drill to its next time, once: false if it is no longer due. */
export async function moveMonthly(
  run: Run,
  { monitorNo, nextMs, nowMs }: { monitorNo: number; nextMs: number; nowMs: number },
): Promise<boolean> {
  const rows = await run<{ no: number }>(
    `UPDATE monthly_drills SET next_at = $2 WHERE monitor_no = $1 AND next_at <= $3 RETURNING monitor_no AS no`,
    [monitorNo, nextMs, nowMs],
  );
  return rows.length > 0;
}

/** Returns when the next monthly drill of a tenant's monitor is due (Unix milliseconds); null = none is planned. */
export async function findNextMonthly(
  database: Pick<Database, 'pool'>,
  { tenantId, monitorId }: { tenantId: string; monitorId: string },
): Promise<number | null> {
  const [row] = await runOn(database.pool)<{ nextMs: number }>(
    `SELECT d.next_at AS "nextMs" FROM monthly_drills d JOIN monitors m ON m.no = d.monitor_no
     WHERE m.tenant_id = $1 AND m.id = $2 AND m.monthly_drill`,
    [tenantId, monitorId],
  );
  return row?.nextMs ?? null;
}
