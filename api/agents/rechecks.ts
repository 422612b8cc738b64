import { hintRecheck } from '../../core/agent/recheck-hints.ts';
import type { IngestAnswer } from '../../core/agent/wire.ts';
import { listRecheckedSources } from '../../models/agent-results.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { AcceptedReport } from './accepted-report.ts';

/**
 * The monitors of a batch that its agent is to check again before their next ticks (D-47); costs a query where the
 * batch has a bad result of checks as they are now.
 */
export async function listRechecks(
  database: ApiDependencies['database'],
  agentNo: number,
  accepted: readonly AcceptedReport[],
): Promise<IngestAnswer['recheck']> {
  const current = accepted.filter(({ monitor, result }) => result.checksVersion === monitor.checksVersion);
  const bad = new Set(
    current
      .filter(({ result: { verdict } }) => verdict === 'down' || verdict === 'degraded')
      .map(({ monitor }) => monitor.no),
  );
  if (bad.size === 0) return [];
  const sources = await listRecheckedSources(database, agentNo, [...bad]);
  const ofMonitors = Map.groupBy(current, ({ monitor }) => monitor);
  return [...ofMonitors].flatMap(([{ no, id }, reports]) => {
    const source = bad.has(no) ? sources.get(no) : undefined;
    const afterMs =
      source &&
      hintRecheck(
        source,
        reports.map(({ result }) => result),
      );
    return afterMs === undefined || afterMs === null ? [] : [{ monitorId: id, afterMs }];
  });
}
