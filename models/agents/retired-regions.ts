import { compareFields } from '../../core/accounts/audit-entry.ts';
import { isScheduled, noScheduleChange, type ScheduleChange } from '../../core/checks/slots.ts';
import { chooseDefaultSources, listAliveAgents } from '../../core/monitors/defaults.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { OPERATOR, systemAuthorOf, insertAuditEntry } from '../accounts/audit-log.ts';
import { scheduleMonitor } from '../checks/schedule.ts';
import type { Database } from '../database.ts';
import type { IdPrefix } from '../secrets/ids.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';

/**
 * A region to retire, and the target region of its monitors. Null: only monitors without another location move, to a
 * running region.
 */
type Retirement = { region: string; moveTo: string | null; nowMs: number };

/** The reason why a region cannot be retired as requested. */
export type RetirementObstacle = 'no such region' | 'no such target' | 'target is away' | 'nowhere to go';

/**
 * The plan for retiring a region, in numbers of monitors. `monitors`: those that it checks. `onlySource`: those without
 * another source. `moved`: those that move to another location. `quorumLowered`: those whose `down_min_sources` drops
 * to the remaining locations (D-12). `isGivenUp`: the region is retired already, and these monitors are left.
 */
type RetirementPlan = {
  region: string;
  moveTo: string | null;
  isGivenUp: boolean;
  monitors: number;
  onlySource: number;
  moved: number;
  quorumLowered: number;
};

/** Number of monitors in one transaction. */
const BATCH = 100;

type RegionAgent = { no: number; id: string; region: string; lastSeenAt: number | null; retiredAt: number | null };
type Move = { retired: RegionAgent; target: RegionAgent | null; others: readonly RegionAgent[] };

/** Plans the retirement of a region, or returns why it is not possible; changes nothing. */
export async function planRetirement(
  database: Pick<Database, 'pool'>,
  retirement: Retirement,
): Promise<RetirementPlan | RetirementObstacle> {
  const run = runOn(database.pool);
  const move = await findMove(run, retirement);
  if (typeof move === 'string') return move;
  const [counts] = await run<Omit<RetirementPlan, 'region' | 'moveTo' | 'isGivenUp'>>(
    `WITH watched AS (
       SELECT m.down_min_sources,
              (SELECT count(*) FROM monitor_sources o WHERE o.monitor_no = m.no AND o.agent_no <> $1) AS others,
              CASE WHEN $2::int IS NULL THEN NOT EXISTS (SELECT 1 FROM monitor_sources o WHERE o.monitor_no = m.no
                AND o.agent_no <> $1)
                   ELSE NOT EXISTS (SELECT 1 FROM monitor_sources o WHERE o.monitor_no = m.no
                     AND o.agent_no = $2) END AS is_moved
       FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no WHERE s.agent_no = $1
     )
     SELECT count(*) AS monitors, count(*) FILTER (WHERE others = 0) AS "onlySource",
       count(*) FILTER (WHERE is_moved) AS moved,
            count(*) FILTER (WHERE down_min_sources > greatest(1, others + is_moved::int)) AS "quorumLowered"
     FROM watched`,
    [move.retired.no, move.target?.no ?? null],
  );
  const plan = {
    region: retirement.region,
    moveTo: retirement.moveTo,
    isGivenUp: move.retired.retiredAt !== null,
    monitors: 0,
    onlySource: 0,
    moved: 0,
    quorumLowered: 0,
    ...counts,
  };
  return plan.moved > 0 && move.target === null && move.others.length === 0 ? 'nowhere to go' : plan;
}

/**
 * Retires a region, so that it can no longer be chosen, and moves up to `limit` of its monitors. Moves a hundred per
 * transaction, each recorded in its account's audit log. Returns the changes for the queue and the number of monitors
 * left, also because other regions were retired meanwhile; another call continues with those.
 */
export async function retireRegion(
  database: Database,
  retirement: Retirement & { newId: (prefix: IdPrefix) => string; limit: number },
): Promise<{ left: number; schedule: ScheduleChange } | RetirementObstacle> {
  const plan = await planRetirement(database, retirement);
  if (typeof plan === 'string') return plan;
  const move = await findMove(runOn(database.pool), retirement);
  if (typeof move === 'string') return move;
  const { retired } = move;
  // Waits for the changes that name the region, so that the batches see their sources (D-741).
  await runOn(database.pool)(
    `WITH retired AS (SELECT no FROM agents WHERE no = $1 FOR UPDATE)
     UPDATE agents a SET revoked_at = coalesce(revoked_at, $2) FROM retired r WHERE a.no = r.no`,
    [retired.no, toUnixSeconds(retirement.nowMs)],
  );
  const schedule = noScheduleChange();
  for (let [done, afterNo] = [0, 0]; done < retirement.limit;) {
    const batch = await inTransaction(database, (run) => moveBatch(run, { ...retirement, ...move, afterNo }));
    schedule.occupied.push(...batch.schedule.occupied);
    schedule.emptied.push(...batch.schedule.emptied);
    schedule.rechecks.push(...batch.schedule.rechecks);
    if (batch.monitors === 0) break;
    done += batch.monitors;
    afterNo = batch.lastNo;
  }
  const [left] = await runOn(database.pool)<{ monitors: number }>(
    'SELECT count(*) AS monitors FROM monitor_sources WHERE agent_no = $1',
    [retired.no],
  );
  return { left: left?.monitors ?? 0, schedule: { ...schedule, rechecks: [...new Set(schedule.rechecks)] } };
}

/**
 * Restores a retired region: it can be chosen again, and gets new monitors. False if no region of that name is retired.
 */
export async function restoreRegion(database: Pick<Database, 'pool'>, region: string): Promise<boolean> {
  const { rowCount } = await database.pool.query(
    `UPDATE agents SET revoked_at = NULL, offline_at = NULL
     WHERE kind = 'first_party' AND region = $1 AND revoked_at IS NOT NULL`,
    [region],
  );
  return rowCount === 1;
}

async function findMove(run: Run, { region, moveTo, nowMs }: Retirement): Promise<Move | RetirementObstacle> {
  const agents = await run<RegionAgent>(
    `SELECT no, id, region, last_seen_at AS "lastSeenAt", revoked_at AS "retiredAt" FROM agents
     WHERE kind = 'first_party' ORDER BY region`,
  );
  const retired = agents.find((each) => each.region === region);
  if (retired === undefined) return 'no such region';
  const active = agents.filter((each) => each !== retired && each.retiredAt === null);
  const target = active.find((each) => each.region === moveTo) ?? null;
  if (moveTo !== null && target === null) return 'no such target';
  // The region itself counts: if it alone is alive, a region without a process is no better.
  const alive = new Set(listAliveAgents([retired, ...active], nowMs));
  if (target !== null && !alive.has(target.id)) return 'target is away';
  return { retired, target, others: active.filter(({ id }) => alive.has(id)) };
}

type MonitorRow = {
  no: number;
  id: string;
  tenant_id: string;
  name: string;
  type: MonitorType;
  target: string;
  enabled: boolean;
  interval_seconds: number;
  down_min_sources: number;
};
type Batch = Move & { afterNo: number; nowMs: number; newId: (prefix: IdPrefix) => string };

/**
 * Moves the monitors of one batch. Locks sources first and then monitors, by number, in the evaluator's order. Monitors
 * that only a region retired meanwhile could check stay, and if it was the target, all do.
 */
async function moveBatch(
  run: Run,
  { retired, target, others, afterNo, nowMs, newId }: Batch,
): Promise<{ monitors: number; lastNo: number; schedule: ScheduleChange }> {
  const schedule = noScheduleChange();
  const locked = await run<{ monitor_no: number }>(
    `SELECT monitor_no FROM monitor_sources
     WHERE monitor_no IN (SELECT monitor_no FROM monitor_sources WHERE agent_no = $1 AND monitor_no > $2
       ORDER BY monitor_no LIMIT ${BATCH})
     ORDER BY monitor_no, agent_no FOR UPDATE`,
    [retired.no, afterNo],
  );
  const monitors = await run<MonitorRow>(
    `SELECT no, id, tenant_id, name, type, target, enabled, interval_seconds, down_min_sources FROM monitors
     WHERE no = ANY($1::int[]) ORDER BY no FOR UPDATE`,
    [[...new Set(locked.map(({ monitor_no: no }) => no))]],
  );
  const sources = await run<{ monitor_no: number; no: number; id: string }>(
    `SELECT s.monitor_no, a.no, a.id FROM monitor_sources s JOIN agents a ON a.no = s.agent_no
     WHERE s.monitor_no = ANY($1::int[]) ORDER BY a.id`,
    [monitors.map(({ no }) => no)],
  );
  // Regions that are given are locked against a retirement, and those retired meanwhile are not given (D-741).
  const active = await run<{ no: number; id: string }>(
    'SELECT no, id FROM agents WHERE no = ANY($1::int[]) AND revoked_at IS NULL ORDER BY no FOR KEY SHARE',
    [(target === null ? others : [target]).map(({ no }) => no)],
  );
  if (target !== null && active.length === 0) return { monitors: 0, lastNo: afterNo, schedule };
  for (const monitor of monitors) {
    const before = sources.filter(({ monitor_no: no }) => no === monitor.no).map(({ no, id }) => ({ no, id }));
    // The monitor's owner has already removed the region.
    if (!before.some(({ no }) => no === retired.no)) continue;
    const remaining = before.filter(({ no }) => no !== retired.no);
    const [chosen] = chooseDefaultSources(
      monitor.id,
      active.map(({ id }) => id),
      1,
    );
    const added = target ?? (remaining.length === 0 ? active.find(({ id }) => id === chosen) : undefined);
    if (remaining.length === 0 && added === undefined) continue;
    const after =
      added === undefined || remaining.some(({ no }) => no === added.no) ? remaining : [...remaining, added];
    const quorum = Math.max(1, Math.min(monitor.down_min_sources, after.length));
    await run('UPDATE monitors SET down_min_sources = $2, updated_at = $3 WHERE no = $1', [
      monitor.no,
      quorum,
      Math.floor(nowMs / 1000),
    ]);
    const scheduled = await scheduleMonitor(run, {
      monitorNo: monitor.no,
      agentNos: after.map(({ no }) => no),
      intervalSeconds: monitor.interval_seconds,
      scheduled: isScheduled(monitor),
      isChanged: false,
      nowMs,
    });
    schedule.occupied.push(...scheduled.occupied);
    schedule.emptied.push(...scheduled.emptied);
    schedule.rechecks.push(...scheduled.rechecks);
    const fieldsOf = (agents: readonly { id: string }[], downMinSources: number) => ({
      fields: { down_min_sources: downMinSources, agent_sources: agents.map(({ id }) => id).toSorted() },
    });
    // Each entry needs its own author. The operator is not a member of these accounts.
    await insertAuditEntry(run, systemAuthorOf(OPERATOR, 'monitor.changed', { newId, nowMs }), {
      tenantId: monitor.tenant_id,
      object: { kind: 'monitor', id: monitor.id, name: monitor.name },
      changes: compareFields(fieldsOf(before, monitor.down_min_sources), fieldsOf(after, quorum)),
    });
  }
  return { monitors: monitors.length, lastNo: monitors.at(-1)?.no ?? afterNo, schedule };
}
