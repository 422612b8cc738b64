import type { ExcludedMaintenance } from '../../core/statistics/reports/build.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/**
 * A stretch in which a monitor is in maintenance, of one occurrence of a window, in Unix milliseconds. `isExcluded`: it
 * is left out of uptime and SLA.
 */
export type MaintenanceTime = ExcludedMaintenance & { windowId: string; windowName: string; isExcluded: boolean };

type TimeRow = Omit<MaintenanceTime, 'retroactive'> & { monitorNo: number; late: [number, number][] | null };

/**
 * The maintenance of these monitors that touches the window `[fromMs, toMs)`, whole, in order; monitors without any
 * have no entry. One index lookup for each monitor.
 */
export async function readMaintenanceTimes(
  database: Pick<Database, 'pool'>,
  { monitorNos, fromMs, toMs }: { monitorNos: readonly number[]; fromMs: number; toMs: number },
): Promise<Map<number, MaintenanceTime[]>> {
  const rows = await runOn(database.pool)<TimeRow>(
    {
      name: 'read-maintenance-times',
      text: `SELECT t.monitor_no AS "monitorNo", t.started_at AS "startMs", t.ended_at AS "endMs",
               o.window_id AS "windowId", o.window_name AS "windowName", o.sla = 'exclude' AS "isExcluded",
               (SELECT json_agg(json_build_array(lower(r), upper(r))) FROM unnest(o.retroactive) AS r) AS late
             FROM maintenance_times t JOIN maintenance_occurrences o ON o.no = t.occurrence_no
             WHERE t.monitor_no = ANY($1::int[]) AND t.started_at < $3 AND t.ended_at > $2
             ORDER BY t.monitor_no, t.started_at, o.no`,
    },
    [monitorNos, fromMs, toMs],
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
