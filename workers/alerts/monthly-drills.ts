import { nextMonthMs } from '../../core/alerts/drill.ts';
import { HOUR_MS } from '../../core/time.ts';
import { systemAuthorOf, systemActor } from '../../models/accounts/audit-log.ts';
import { startDrill, type DrillRefusal } from '../../models/alerts/drills.ts';
import {
  deleteEndedMonthly,
  insertMonthly,
  listDueMonthly,
  listNewMonthly,
  mayBeginMonthly,
  moveMonthly,
  type DueDrill,
} from '../../models/alerts/monthly-drills.ts';
import { runOn } from '../../models/sql.ts';
import { askForAnswers, type DrillParts } from './drills.ts';

/** Maximum monitors of one round. */
const PER_ROUND = 100;

/** Delay of a monthly drill whose monitor fails, or has a drill, when it is due, in milliseconds. */
const AGAIN_AFTER_MS = HOUR_MS;

/** Plans and starts the drills of monitors that have one each month. It may run twice: only one run starts each. */
export async function beginMonthlyDrills(parts: DrillParts): Promise<{ planned: number; begun: number }> {
  const { database, now } = parts;
  const nowMs = now();
  const run = runOn(database.pool);
  await deleteEndedMonthly(run);
  const monitorNos = await listNewMonthly(database, PER_ROUND);
  if (monitorNos.length > 0) await insertMonthly(run, { monitorNos, fromMs: nowMs, nextMs: nextMonthMs(nowMs, nowMs) });
  let begun = 0;
  for (const due of await listDueMonthly(database, { nowMs, limit: PER_ROUND }))
    if (await beginMonthly(parts, due, nowMs)) begun += 1;
  return { planned: monitorNos.length, begun };
}

async function beginMonthly(parts: DrillParts, due: DueDrill, nowMs: number): Promise<boolean> {
  const { database, newId, log } = parts;
  const { monitorNo, monitorId, tenantId, fromMs } = due;
  if (!(await mayBeginMonthly(database, { tenantId, nowMs }))) return false;
  // Not moved to the next month yet, so that after a kill before its start the drill is still due.
  const run = runOn(database.pool);
  if (!(await moveMonthly(run, { monitorNo, nextMs: nowMs + AGAIN_AFTER_MS, nowMs }))) return false;
  const month = { monitorNo, nextMs: nextMonthMs(fromMs, nowMs), nowMs: Number.MAX_SAFE_INTEGER };
  const started = await startDrill(database, {
    id: newId('drl'),
    incidentId: newId('inc'),
    tenantId,
    monitorId,
    isMonthly: true,
    requestKey: null,
    nowMs,
    author: systemAuthorOf(systemActor('Spotcheck'), 'monitor.drilled', { newId, nowMs }),
    beforeCommit: (beginning) => moveMonthly(beginning, month),
  });
  if ('drill' in started) {
    await askForAnswers(parts, started.drill, 'down');
    return true;
  }
  const { refusal } = started;
  if (typeof refusal !== 'object' && refusal !== 'outage') await moveMonthly(run, month);
  log.info({ monitor_id: monitorId, reason: reasonOf(refusal) }, 'drill.left_out');
  return false;
}

function reasonOf(refusal: DrillRefusal): string {
  return typeof refusal === 'object' ? 'running' : refusal;
}
