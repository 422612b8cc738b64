import { findInability, type Inability, type Withholding } from '../../core/agents/wire.ts';
import {
  chooseSlot,
  isTickFar,
  noScheduleChange,
  tickMoment,
  type ScheduleChange,
  type ScheduleSlot,
} from '../../core/checks/slots.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import type { AgentKind } from '../orm.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';

/**
 * The wanted placement of a monitor: all agents that are its sources, and whether they check it now. `isChanged`: there
 * is something new to check (the monitor is new or resumed, or its checks changed), so that its agents check without
 * waiting for their next tick. `defersRechecks`: these rechecks are listed in the change but not planned yet.
 */
type MonitorSchedule = {
  monitorNo: number;
  agentNos: readonly number[];
  intervalSeconds: number;
  scheduled: boolean;
  isChanged: boolean;
  defersRechecks?: boolean;
  nowMs: number;
};

type SourceRow = { agentNo: number; intervalSeconds: number; slot: number | null };

/**
 * Updates `monitor_sources` and the counts of slots to the placement, inside the caller's transaction, and returns the
 * changes for the queue. An unchanged source keeps its slot and its streaks; one that is no longer named is removed.
 */
export async function scheduleMonitor(run: Run, wanted: MonitorSchedule): Promise<ScheduleChange> {
  const { monitorNo, agentNos, intervalSeconds } = wanted;
  const rows = await run<SourceRow>(
    {
      name: 'lock-sources',
      text:
        'SELECT agent_no AS "agentNo", interval_seconds AS "intervalSeconds", phase AS slot FROM monitor_sources ' +
        'WHERE monitor_no = $1 ORDER BY agent_no FOR UPDATE',
    },
    [monitorNo],
  );
  const change = noScheduleChange();
  const known = new Map(rows.map((row) => [row.agentNo, row]));
  for (const row of rows) {
    const stays = agentNos.includes(row.agentNo);
    const keepsSlot = stays && wanted.scheduled && row.intervalSeconds === intervalSeconds;
    if (row.slot !== null && !keepsSlot) {
      const left = { agentNo: row.agentNo, intervalSeconds: row.intervalSeconds, slot: row.slot };
      if (await leaveSlot(run, left)) change.emptied.push(left);
    }
    if (!stays)
      await run(
        { name: 'delete-source', text: 'DELETE FROM monitor_sources WHERE monitor_no = $1 AND agent_no = $2' },
        [monitorNo, row.agentNo],
      );
  }
  for (const agentNo of agentNos.toSorted((a, b) => a - b)) {
    const before = known.get(agentNo);
    const stays =
      before !== undefined && before.intervalSeconds === intervalSeconds && (before.slot !== null) === wanted.scheduled;
    const isChanged = wanted.scheduled && (wanted.isChanged || before === undefined);
    if (stays && !isChanged) continue;
    const taken = wanted.scheduled && !stays ? await takeSlot(run, { agentNo, intervalSeconds }) : null;
    if (taken?.first === true) change.occupied.push({ agentNo, intervalSeconds, slot: taken.slot });
    const slot = stays ? before.slot : (taken?.slot ?? null);
    const isRechecked =
      isChanged && slot !== null && isTickFar(tickMoment({ intervalSeconds, slot }, monitorNo), wanted.nowMs);
    if (isRechecked) change.rechecks.push(agentNo);
    await run(
      {
        name: 'write-source',
        text: `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds, phase, look_at)
            VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (monitor_no, agent_no) DO UPDATE
                 SET interval_seconds = excluded.interval_seconds, phase = excluded.phase,
                 look_at = CASE WHEN excluded.phase IS NOT NULL THEN coalesce(excluded.look_at,
                   monitor_sources.look_at) END`,
      },
      [monitorNo, agentNo, intervalSeconds, slot, isRechecked && wanted.defersRechecks !== true ? wanted.nowMs : null],
    );
  }
  return withoutMoves(change);
}

/** A source's recheck before its next tick, from a time on (Unix milliseconds). */
export type PlannedRecheck = { monitorNo: number; agentNo: number; atMs: number };

/**
 * Has sources check again, with one statement; a waiting recheck is never postponed. Skips sources that left the
 * schedule meanwhile.
 */
export async function scheduleRechecks(run: Run, rechecks: readonly PlannedRecheck[]): Promise<void> {
  if (rechecks.length === 0) return;
  await run(
    `UPDATE monitor_sources s SET look_at = least(s.look_at, k.at)
     FROM unnest($1::int[], $2::int[], $3::bigint[]) AS k (monitor_no, agent_no, at)
     WHERE s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no AND s.phase IS NOT NULL`,
    [
      rechecks.map((recheck) => recheck.monitorNo),
      rechecks.map((recheck) => recheck.agentNo),
      rechecks.map((recheck) => recheck.atMs),
    ],
  );
}

/** Lists the slots of agents that have monitors: the queue must have a job scheduler for each. */
export async function listOccupiedSlots(database: Database, agentNos: readonly number[]): Promise<ScheduleSlot[]> {
  return await runOn(database.pool)<ScheduleSlot>(
    `SELECT agent_no AS "agentNo", interval_seconds AS "intervalSeconds", phase AS slot FROM schedule_phases
     WHERE agent_no = ANY($1) AND monitors > 0`,
    [agentNos],
  );
}

/**
 * Lists the service's own agents with a recheck that has waited since before `beforeMs` (Unix milliseconds): its job
 * was not added, or was lost.
 */
export async function listOverdueRechecks(database: Database, beforeMs: number): Promise<number[]> {
  const rows = await runOn(database.pool)<{ no: number }>(
    `SELECT no FROM agents a WHERE kind <> 'tenant' AND EXISTS (SELECT 1 FROM monitor_sources s WHERE s.agent_no = a.no
     AND s.look_at < $1)`,
    [beforeMs],
  );
  return rows.map((row) => row.no);
}

async function takeSlot(
  run: Run,
  entry: { agentNo: number; intervalSeconds: number },
): Promise<{ slot: number; first: boolean }> {
  const rows = await run<{ slot: number; monitors: number }>(
    {
      name: 'list-slots',
      text: `SELECT phase AS slot, monitors FROM schedule_phases
             WHERE agent_no = $1 AND interval_seconds = $2 AND monitors > 0`,
    },
    [entry.agentNo, entry.intervalSeconds],
  );
  const slot = chooseSlot(entry.intervalSeconds, new Map(rows.map((row) => [row.slot, row.monitors])));
  const [taken] = await run<{ monitors: number }>(
    {
      name: 'take-slot',
      text: `INSERT INTO schedule_phases (agent_no, interval_seconds, phase, monitors) VALUES ($1, $2, $3, 1)
             ON CONFLICT (agent_no, interval_seconds, phase) DO UPDATE SET monitors = schedule_phases.monitors + 1
               RETURNING monitors`,
    },
    [entry.agentNo, entry.intervalSeconds, slot],
  );
  return { slot, first: taken?.monitors === 1 };
}

/** Removes a monitor from a slot; true if it was the last one. */
async function leaveSlot(run: Run, left: ScheduleSlot): Promise<boolean> {
  const [remaining] = await run<{ monitors: number }>(
    {
      name: 'leave-slot',
      text:
        'UPDATE schedule_phases SET monitors = monitors - 1 WHERE agent_no = $1 AND interval_seconds = $2 AND ' +
        'phase = $3 RETURNING monitors',
    },
    [left.agentNo, left.intervalSeconds, left.slot],
  );
  return remaining?.monitors === 0;
}

/** Removes slots that were left and taken again in one change, which are neither new nor empty for the queue. */
function withoutMoves({ occupied, emptied, rechecks }: ScheduleChange): ScheduleChange {
  const key = (entry: ScheduleSlot) => `${entry.agentNo}/${entry.intervalSeconds}/${entry.slot}`;
  const taken = new Set(occupied.map(key));
  const left = new Set(emptied.map(key));
  return {
    occupied: occupied.filter((entry) => !left.has(key(entry))),
    emptied: emptied.filter((entry) => !taken.has(key(entry))),
    rechecks,
  };
}

/** A source of a requested recheck: when it will check, and for `unable` why it will not. */
type RequestedSource = {
  agentNo: number;
  agentId: string;
  kind: AgentKind;
  state: 'asked' | 'waits' | 'unable';
  inability: Inability | null;
};

/** Result of a request for a check. A monitor that is not being checked now has no sources. */
export type CheckRequest = {
  monitor: { no: number; type: MonitorType; target: string; enabled: boolean };
  sources: RequestedSource[];
};

type RequestedRow = Pick<RequestedSource, 'agentNo' | 'agentId' | 'kind'> & {
  capabilities: string[] | null;
  secretsWithheld: Withholding | null;
  hasSecrets: boolean;
};

/** The monitor to check, and the author; `beforeCommit` runs if any of its sources is to check it. */
type CheckKey = {
  tenantId: string;
  id: string;
  nowMs: number;
  beforeCommit?: (run: Run) => Promise<void>;
} & Authored;

/**
 * Requests another check from every source of a monitor that can run it. Those of the service check as soon as the
 * queue is notified, customers' agents at their next check-in. Repeated requests before a source has checked change
 * nothing. Null if the tenant has no such monitor.
 */
export async function requestCheck(
  database: Database,
  { tenantId, id, nowMs, author, beforeCommit }: CheckKey,
): Promise<CheckRequest | null> {
  return await inTransaction(database, async (run) => {
    const [monitor] = await run<CheckRequest['monitor'] & { name: string }>(
      'SELECT no, name, type, target, enabled FROM monitors WHERE id = $1 AND tenant_id = $2',
      [id, tenantId],
    );
    if (monitor === undefined) return null;
    const rows = await run<RequestedRow>(
      `WITH requested AS (
         SELECT monitor_no, agent_no FROM monitor_sources WHERE monitor_no = $1 AND phase IS NOT NULL ORDER BY agent_no
           FOR NO KEY UPDATE
       )
       UPDATE monitor_sources s
       SET look_at = CASE a.kind WHEN 'tenant' THEN s.look_at
         ELSE least(s.look_at, $2::bigint) END, asked_at = CASE a.kind WHEN 'tenant' THEN $2::bigint / 1000 END
       FROM requested k JOIN agents a ON a.no = k.agent_no JOIN monitors m ON m.no = k.monitor_no
       WHERE s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no
       RETURNING s.agent_no AS "agentNo", a.id AS "agentId", a.kind, a.capabilities,
         a.secrets_withheld AS "secretsWithheld", m.sealed_secrets IS NOT NULL AS "hasSecrets"`,
      [monitor.no, nowMs],
    );
    if (rows.length > 0) {
      await insertAuditEntry(run, author, { tenantId, object: { kind: 'monitor', id, name: monitor.name } });
      await beforeCommit?.(run);
    }
    return {
      monitor,
      sources: rows.map((row) => requestedSource(row, monitor)).toSorted((a, b) => a.agentNo - b.agentNo),
    };
  });
}

function requestedSource(row: RequestedRow, { type }: CheckRequest['monitor']): RequestedSource {
  const { agentNo, agentId, kind, capabilities, secretsWithheld, hasSecrets } = row;
  const requested = { agentNo, agentId, kind };
  if (kind !== 'tenant') return { ...requested, state: 'asked', inability: null };
  const inability = findInability({ capabilities, secretsWithheld }, { type, hasSecrets });
  return { ...requested, state: inability === null ? 'waits' : 'unable', inability };
}
