import { readMutes } from '../../models/alerts/mutes.ts';
import type { Database } from '../../models/database.ts';
import { readExpectedPings } from '../../models/heartbeats/heartbeats.ts';
import { readCurrentMaintenance } from '../../models/maintenance/maintenance-times.ts';
import type { CurrentFacts } from './presenter.ts';

/** Which monitors: all of a tenant, or these; `hasHeartbeats` is false where none of them waits for pings. */
type FactsQuery = ({ tenantId: string } | { monitorIds: readonly string[] }) & {
  nowMs: number;
  hasHeartbeats: boolean;
};

/** Reads what monitors are in and wait for now; the function that is returned gives it by a monitor's id. */
export async function readCurrentFacts(
  database: Database,
  { hasHeartbeats, ...query }: FactsQuery,
): Promise<(monitorId: string) => CurrentFacts> {
  const maintenance = await readCurrentMaintenance(database, query);
  const mutes = await readMutes(database, query);
  const expected = hasHeartbeats ? await readExpectedPings(database, query) : new Map();
  return (id) => ({ maintenance: maintenance.get(id), mutedUntilMs: mutes.get(id), expected: expected.get(id) });
}

/** True where one of these monitors waits for pings. */
export function haveHeartbeats(monitors: readonly { type: string }[]): boolean {
  return monitors.some(({ type }) => type === 'heartbeat');
}
