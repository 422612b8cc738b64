import { choosePhase } from '../core/phases.ts';
import type { ScheduleChange, SchedulePhase } from '../core/schedule.ts';
import type { Database } from './database.ts';
import { runWith, type Run } from './sql.ts';

/** Where a monitor shall stand: every agent that watches it, and whether they check it now. */
export type Placement = { monitorNo: number; agentNos: readonly number[]; intervalSeconds: number; scheduled: boolean };

type SourceRow = { agent_no: number; interval_seconds: number; phase: number | null };

/**
 * Makes `monitor_sources` and the phases' counts say what the placement says, inside the caller's transaction, and returns what that
 * means for the queue. A source that stays where it is keeps its phase and its streaks; one that is no longer named is removed.
 */
export async function placeMonitor(run: Run, placement: Placement): Promise<ScheduleChange> {
  const { monitorNo, agentNos, intervalSeconds } = placement;
  const rows = await run<SourceRow>(
    'SELECT agent_no, interval_seconds, phase FROM monitor_sources WHERE monitor_no = $1 ORDER BY agent_no FOR UPDATE',
    [monitorNo],
  );
  const change: ScheduleChange = { occupied: [], emptied: [] };
  const known = new Map(rows.map((row) => [row.agent_no, row]));
  for (const row of rows) {
    const stays = agentNos.includes(row.agent_no);
    const keepsPhase = stays && placement.scheduled && row.interval_seconds === intervalSeconds;
    if (row.phase !== null && !keepsPhase) {
      const left = { agentNo: row.agent_no, intervalSeconds: row.interval_seconds, phase: row.phase };
      if (await leavePhase(run, left)) change.emptied.push(left);
    }
    if (!stays) await run('DELETE FROM monitor_sources WHERE monitor_no = $1 AND agent_no = $2', [monitorNo, row.agent_no]);
  }
  for (const agentNo of agentNos.toSorted((a, b) => a - b)) {
    const before = known.get(agentNo);
    if (before !== undefined && before.interval_seconds === intervalSeconds && (before.phase !== null) === placement.scheduled) continue;
    const taken = placement.scheduled ? await takePhase(run, { agentNo, intervalSeconds }) : null;
    if (taken?.first === true) change.occupied.push({ agentNo, intervalSeconds, phase: taken.phase });
    await run(
      `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds, phase) VALUES ($1, $2, $3, $4)
       ON CONFLICT (monitor_no, agent_no) DO UPDATE SET interval_seconds = excluded.interval_seconds, phase = excluded.phase`,
      [monitorNo, agentNo, intervalSeconds, taken?.phase ?? null],
    );
  }
  return withoutMoves(change);
}

/** Every phase that has monitors: what the queue must hold a job scheduler for. */
export async function listOccupiedPhases(database: Database): Promise<SchedulePhase[]> {
  const rows = await runWith(database)<{ agent_no: number; interval_seconds: number; phase: number }>(
    'SELECT agent_no, interval_seconds, phase FROM schedule_phases WHERE monitors > 0',
  );
  return rows.map((row) => ({ agentNo: row.agent_no, intervalSeconds: row.interval_seconds, phase: row.phase }));
}

async function takePhase(run: Run, place: { agentNo: number; intervalSeconds: number }): Promise<{ phase: number; first: boolean }> {
  const rows = await run<{ phase: number; monitors: number }>(
    'SELECT phase, monitors FROM schedule_phases WHERE agent_no = $1 AND interval_seconds = $2 AND monitors > 0',
    [place.agentNo, place.intervalSeconds],
  );
  const phase = choosePhase(place.intervalSeconds, new Map(rows.map((row) => [row.phase, row.monitors])));
  const [taken] = await run<{ monitors: number }>(
    `INSERT INTO schedule_phases (agent_no, interval_seconds, phase, monitors) VALUES ($1, $2, $3, 1)
     ON CONFLICT (agent_no, interval_seconds, phase) DO UPDATE SET monitors = schedule_phases.monitors + 1 RETURNING monitors`,
    [place.agentNo, place.intervalSeconds, phase],
  );
  return { phase, first: taken?.monitors === 1 };
}

/** True when the last monitor left. */
async function leavePhase(run: Run, left: SchedulePhase): Promise<boolean> {
  const [remaining] = await run<{ monitors: number }>(
    'UPDATE schedule_phases SET monitors = monitors - 1 WHERE agent_no = $1 AND interval_seconds = $2 AND phase = $3 RETURNING monitors',
    [left.agentNo, left.intervalSeconds, left.phase],
  );
  return remaining?.monitors === 0;
}

/** A phase that was left and taken again in one change is neither new nor empty to the queue. */
function withoutMoves({ occupied, emptied }: ScheduleChange): ScheduleChange {
  const key = (place: SchedulePhase) => `${place.agentNo}/${place.intervalSeconds}/${place.phase}`;
  const taken = new Set(occupied.map(key));
  const left = new Set(emptied.map(key));
  return { occupied: occupied.filter((place) => !left.has(key(place))), emptied: emptied.filter((place) => !taken.has(key(place))) };
}
