import type { Facts } from './facts.ts';
import type { Found } from './findings.ts';
import type { Incident, Transition } from './record.ts';

/**
 * Checks the history for consistency: transitions form a gapless chain from pending, and incidents follow from them
 * exactly (D-45).
 */
export function judgeHistory({ record, monitorIds }: Facts): Found[] {
  const transitions = Map.groupBy(record.transitions, ({ monitorId }) => monitorId);
  const incidents = Map.groupBy(record.incidents, ({ monitorId }) => monitorId);
  return monitorIds.flatMap((monitorId) => {
    const chain = transitions.get(monitorId) ?? [];
    const found: Found[] = isChain(chain)
      ? []
      : [
          {
            finding: 'histories broken',
            text: `${monitorId}: ${chain.map(({ sequence, from, to }) => `${sequence} ${from} to ${to}`).join(', ')}`,
          },
        ];
    const [should, are] = [incidentsOf(monitorId, chain), incidents.get(monitorId) ?? []].map((list) =>
      list.map(formatIncident).join('; '),
    );
    if (should !== are)
      found.push({
        finding: 'incidents inconsistent',
        text: `${monitorId}: there are ${are || 'none'}; transitions make ${should || 'none'}`,
      });
    return found;
  });
}

function isChain(chain: readonly Transition[]): boolean {
  return chain.every(({ sequence, from, to, atMs }, index) => {
    const before = chain[index - 1];
    return sequence === index + 1 && from === (before?.to ?? 'pending') && from !== to && atMs >= (before?.atMs ?? 0);
  });
}

function incidentsOf(monitorId: string, chain: readonly Transition[]): Incident[] {
  const incidents: Incident[] = [];
  for (const { to, atMs } of chain) {
    const last = incidents.at(-1);
    const open = last?.resolvedAtMs === null ? last : undefined;
    if ((to === 'down' || to === 'degraded') && open === undefined)
      incidents.push({ monitorId, state: to, startedAtMs: atMs, resolvedAtMs: null, resolution: null });
    else if (to === 'down' && open !== undefined) open.state = 'down';
    else if (to === 'up' && open !== undefined) Object.assign(open, { resolvedAtMs: atMs, resolution: 'recovered' });
  }
  return incidents;
}

function formatIncident({ state, startedAtMs, resolvedAtMs, resolution }: Incident): string {
  return `${state} from ${startedAtMs} to ${resolvedAtMs ?? 'now'}${resolution === null ? '' : ` (${resolution})`}`;
}
