import { ServiceCalendar, measureService, type CountedHours } from '../../core/statistics/service-sla.ts';
import type { StateSeconds } from '../../core/statistics/sla.ts';
import type { Database } from '../database.ts';
import { readStateHistories } from '../incidents/transitions.ts';
import { excludedTimes, readMaintenanceTimes } from '../maintenance/maintenance-times.ts';
import { runOn, type Run } from '../sql.ts';
import { listServiceGaps } from './service-gaps.ts';

/** The most monitors of one SLA over tags. */
export const MOST_TAGGED = 1000;

/** The most changes of state and stretches of maintenance of all of them in a window. */
const MOST_CHANGES = 1_000_000;

/** Monitors that are counted at a time, the most changes of one of them, and the most maintenance of all of these. */
const CHUNK = 50;
const MOST_OF_ONE = 10_000;
const MOST_MAINTENANCE = 100_000;

type TaggedMonitor = { no: number; id: string; name: string; createdAt: number };

/** How long a monitor had each state in the service hours. */
export type MeasuredService = { id: string; name: string; seconds: StateSeconds };

/** What comes of it: too many monitors, too many changes of them, or what each of them was. */
export type TagSla = 'monitors' | 'changes' | readonly MeasuredService[];

/**
 * How long the monitors that have all of these tags now had each state in service hours, by their creation. The window
 * is `[fromMs, toMs)` in Unix milliseconds. Reads only: of 1,000 monitors and a year about two seconds.
 */
export async function measureTags(
  database: Pick<Database, 'pool'>,
  { tenantId, tags, counted, nowMs, ...window }: TagSlaRead,
): Promise<TagSla> {
  const run = runOn(database.pool);
  const monitors = await listTagged(run, { tenantId, tags, beforeMs: window.toMs });
  if (monitors.length > MOST_TAGGED) return 'monitors';
  const gaps = await listServiceGaps(run, { ...window, nowMs });
  const calendar = new ServiceCalendar(window);
  const measured: MeasuredService[] = [];
  let left = MOST_CHANGES;
  for (let first = 0; first < monitors.length; first += CHUNK) {
    const chunk = monitors.slice(first, first + CHUNK);
    const histories = await readStateHistories(database, {
      monitorIds: chunk.map(({ id }) => id),
      ...window,
      most: MOST_OF_ONE,
    });
    const maintenance = await readMaintenanceTimes(database, {
      monitorNos: chunk.map(({ no }) => no),
      ...window,
      most: MOST_MAINTENANCE,
    });
    const [changes, times] = [countEach(histories), countEach(maintenance)];
    left -= changes.total + times.total;
    // What is as long as it may be can lack its beginning or end.
    if (left < 0 || changes.most >= MOST_OF_ONE || times.total >= MOST_MAINTENANCE) return 'changes';
    for (const { no, id, name, createdAt } of chunk)
      measured.push({
        id,
        name,
        seconds: measureService(calendar, counted, {
          transitions: histories.get(id) ?? [],
          createdAtMs: createdAt * 1000,
          gaps,
          maintenance: excludedTimes(maintenance, no),
        }),
      });
  }
  return measured;
}

/** How long lists are together, and the longest of them. */
function countEach(lists: ReadonlyMap<unknown, readonly unknown[]>): { total: number; most: number } {
  const lengths = [...lists.values()].map(({ length }) => length);
  return { total: lengths.reduce((sum, length) => sum + length, 0), most: Math.max(0, ...lengths) };
}

type TagSlaRead = {
  tenantId: string;
  tags: readonly string[];
  counted: CountedHours;
  fromMs: number;
  toMs: number;
  nowMs: number;
};

async function listTagged(
  run: Run,
  { tenantId, tags, beforeMs }: { tenantId: string; tags: readonly string[]; beforeMs: number },
): Promise<TaggedMonitor[]> {
  return await run<TaggedMonitor>(
    `SELECT no, id, name, created_at AS "createdAt" FROM monitors
     WHERE tenant_id = $1 AND tags @> $2::text[] AND created_at * 1000 < $3::bigint
     ORDER BY created_at, id LIMIT $4`,
    [tenantId, tags, beforeMs, MOST_TAGGED + 1],
  );
}
