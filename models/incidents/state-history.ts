import type { MonitorState } from '../../core/incidents/state.ts';
import type { StateChange } from '../../core/statistics/sla.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

type HistoriesRead = {
  monitorIds: readonly string[];
  fromMs: number;
  toMs: number;
  /** The most changes of one monitor; all unless given. */
  most?: number;
};

/**
 * The changes of state that a window `[fromMs, toMs)` (Unix milliseconds) is measured by, in order. Of each monitor the
 * last one before the window and all in it, or the newest `most` where there are more; an empty list where there is
 * none. Two index lookups for each monitor, however long its history.
 */
export async function readStateHistories(
  database: Pick<Database, 'pool'>,
  { monitorIds, fromMs, toMs, most = Number.POSITIVE_INFINITY }: HistoriesRead,
): Promise<Map<string, StateChange[]>> {
  const histories = new Map<string, StateChange[]>(monitorIds.map((id) => [id, []]));
  const rows = await runOn(database.pool)<{ id: string; times: number[]; states: MonitorState[] }>(
    {
      // As two lists for each monitor they are read in a sixth of the time that the driver takes for rows.
      name: 'read-state-histories',
      text: `SELECT m.id, json_agg(t.at ORDER BY t.sequence) AS times,
               json_agg(t.to_state ORDER BY t.sequence) AS states
             FROM unnest($1::text[]) AS m (id), LATERAL (
               (SELECT at, sequence, to_state FROM transitions WHERE monitor_id = m.id AND at < $2
                 ORDER BY at DESC, sequence DESC LIMIT 1)
               UNION ALL
               (SELECT at, sequence, to_state FROM transitions WHERE monitor_id = m.id AND at >= $2 AND at < $3
                 ORDER BY at DESC, sequence DESC LIMIT $4)
             ) t
             GROUP BY m.id`,
    },
    [[...histories.keys()], fromMs, toMs, Number.isFinite(most) ? most : null],
  );
  for (const { id, times, states } of rows)
    histories.set(
      id,
      states.map((to, index) => ({ atMs: times[index] ?? 0, to })),
    );
  // What was before the window is not what was before the newest changes in it.
  for (const history of histories.values()) if (history.length > most) history.shift();
  return histories;
}

/**
 * When a monitor's incidents began and ended, of those that touch `[fromMs, toMs)`, in Unix milliseconds; `endMs` is
 * null of one that is open.
 */
export async function listIncidentSpans(
  database: Pick<Database, 'pool'>,
  { monitorId, fromMs, toMs }: { monitorId: string; fromMs: number; toMs: number },
): Promise<{ startMs: number; endMs: number | null }[]> {
  return await runOn(database.pool)(
    {
      name: 'list-incident-spans',
      text: `SELECT started_at AS "startMs", resolved_at AS "endMs" FROM incidents
             WHERE monitor_id = $1 AND started_at < $3 AND (resolved_at IS NULL OR resolved_at >= $2)
               ORDER BY started_at`,
    },
    [monitorId, fromMs, toMs],
  );
}
