import type { AlertMaintenance } from '../../core/maintenance/window.ts';
import type { ExcludedMaintenance } from '../../core/statistics/reports/build.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';

/**
 * A stretch in which a monitor is in maintenance, of one occurrence of a window, in Unix milliseconds. `isExcluded`: it
 * is left out of uptime and SLA.
 */
export type MaintenanceTime = ExcludedMaintenance & { windowId: string; windowName: string; isExcluded: boolean };

/** The maintenance that a monitor is in, as reads show it; `ends_at` is in Unix seconds. */
export type CurrentMaintenance = { window_id: string; ends_at: number };

type TimeRow = Omit<MaintenanceTime, 'retroactive'> & { monitorNo: number; late: [number, number][] | null };

/**
 * The maintenance of these monitors that touches the window `[fromMs, toMs)`, whole, in order; monitors without any
 * have no entry. `most` of all together; all unless given. One index lookup for each monitor.
 */
export async function readMaintenanceTimes(
  database: Pick<Database, 'pool'>,
  { monitorNos, fromMs, toMs, most }: { monitorNos: readonly number[]; fromMs: number; toMs: number; most?: number },
): Promise<Map<number, MaintenanceTime[]>> {
  const rows = await runOn(database.pool)<TimeRow>(
    {
      name: 'read-maintenance-times',
      text: `SELECT t.monitor_no AS "monitorNo", t.started_at AS "startMs", t.ended_at AS "endMs",
               o.window_id AS "windowId", o.window_name AS "windowName", o.sla = 'exclude' AS "isExcluded",
               (SELECT json_agg(json_build_array(lower(r), upper(r))) FROM unnest(o.retroactive) AS r) AS late
             FROM maintenance_times t JOIN maintenance_occurrences o ON o.no = t.occurrence_no
             WHERE t.monitor_no = ANY($1::int[]) AND t.started_at < $3 AND t.ended_at > $2
             ORDER BY t.monitor_no, t.started_at, o.no LIMIT $4`,
    },
    [monitorNos, fromMs, toMs, most ?? null],
  );
  const times = rows.map(({ late, ...time }) => ({
    ...time,
    retroactive: (late ?? []).map(([startMs, endMs]) => ({ startMs, endMs })),
  }));
  return Map.groupBy(times, ({ monitorNo }) => monitorNo);
}

/** Those of a monitor that its uptime leaves out. */
export function excludedTimes(times: ReadonlyMap<number, readonly MaintenanceTime[]>, no: number): MaintenanceTime[] {
  return (times.get(no) ?? []).filter(({ isExcluded }) => isExcluded);
}

/** The maintenance that alerts of these monitors have to look at at a moment, by the monitors' numbers. */
export async function listAlertMaintenance(
  run: Run,
  { monitorNos, nowMs }: { monitorNos: readonly number[]; nowMs: number },
): Promise<Map<number, AlertMaintenance[]>> {
  if (monitorNos.length === 0) return new Map();
  const rows = await run<AlertMaintenance & { monitorNo: number }>(
    {
      name: 'list-alert-maintenance',
      text: `SELECT t.monitor_no AS "monitorNo", o.no AS "occurrenceNo", o.window_id AS "windowId",
               o.window_name AS "windowName", o.alerts, t.ended_at AS "endsAtMs",
               t.ended_at + o.settle_seconds * 1000 AS "untilMs"
             FROM current_times c
             JOIN maintenance_times t ON t.monitor_no = c.monitor_no AND t.occurrence_no = c.occurrence_no
             JOIN maintenance_occurrences o ON o.no = c.occurrence_no
             WHERE c.monitor_no = ANY($1::int[]) AND t.started_at <= $2 AND t.ended_at > t.started_at
               AND t.ended_at + o.settle_seconds * 1000 > $2`,
    },
    [monitorNos, nowMs],
  );
  return Map.groupBy(rows, ({ monitorNo }) => monitorNo);
}

/** Which monitors: all of a tenant, or these. */
type Selection = { tenantId: string } | { monitorIds: readonly string[] };

/** The maintenance that monitors are in, the one that ends last, by their ids, as reads show it. */
export async function readCurrentMaintenance(
  database: Pick<Database, 'pool'>,
  { nowMs, ...selection }: Selection & { nowMs: number },
): Promise<Map<string, CurrentMaintenance>> {
  const isOfTenant = 'tenantId' in selection;
  const rows = await runOn(database.pool)<CurrentMaintenance & { id: string }>(
    {
      name: `read-maintenance-of-${isOfTenant ? 'tenant' : 'monitors'}`,
      text: `SELECT DISTINCT ON (m.id) m.id, o.window_id, t.ended_at / 1000 AS ends_at
             FROM ${
               isOfTenant
                 ? 'current_occurrences c JOIN maintenance_times t ON t.occurrence_no = c.occurrence_no'
                 : `monitors n JOIN current_times c ON c.monitor_no = n.no
             JOIN maintenance_times t ON t.monitor_no = c.monitor_no AND t.occurrence_no = c.occurrence_no`
             }
             JOIN maintenance_occurrences o ON o.no = c.occurrence_no JOIN monitors m ON m.no = t.monitor_no
             WHERE ${isOfTenant ? 'c.tenant_id = $1' : 'n.id = ANY($1::text[])'}
               AND t.started_at <= $2 AND t.ended_at > $2
             ORDER BY m.id, t.ended_at DESC`,
    },
    ['tenantId' in selection ? selection.tenantId : selection.monitorIds, nowMs],
  );
  return new Map(rows.map(({ id, ...maintenance }) => [id, maintenance]));
}
