import { api, type Schemas } from '../../client/api.ts';

export type Incident = Schemas['Incident'];

/** What is looked for, as it stands in the address; texts are empty where nothing is asked. */
export type Filter = { status: string; acknowledged: string; monitorId: string; period: string; until: string; count: number };

/** Resolved incidents: `hasMore` = there are older ones. */
export type Found = { open: readonly Incident[]; resolved: readonly Incident[]; hasMore: boolean };

/** How many resolved ones are shown at first, and at most; after that one goes back in time. */
export const FIRST_COUNT = 50;
export const MOST = 800;

/** The periods that one can look back, with their seconds. */
export const PERIODS: Readonly<Record<string, { label: string; seconds: number }>> = {
  '1d': { label: 'Last 24 hours', seconds: 86_400 },
  '7d': { label: 'Last 7 days', seconds: 7 * 86_400 },
  '30d': { label: 'Last 30 days', seconds: 30 * 86_400 },
  '90d': { label: 'Last 90 days', seconds: 90 * 86_400 },
};

const NOTHING = { incidents: [] as Incident[] };

/** Reads what is asked for out of an address. */
export function readFilter(query: Readonly<Record<string, string>>): Filter {
  return {
    status: query['status'] ?? '',
    acknowledged: query['acknowledged'] ?? '',
    monitorId: query['monitor_id'] ?? '',
    period: query['period'] ?? '',
    until: query['until'] ?? '',
    count: readCount(query),
  };
}

/** How many are to be shown, by an address. */
export function readCount(query: Readonly<Record<string, string>>): number {
  const count = Number(query['count'] ?? FIRST_COUNT);
  return Number.isInteger(count) ? Math.min(MOST, Math.max(1, count)) : FIRST_COUNT;
}

/** Whether anything is left out by it. */
export function isNarrow({ status, acknowledged, monitorId, period, until }: Filter): boolean {
  return [status, acknowledged, monitorId, period, until].some((part) => part !== '');
}

/** Asks for all that are open, and for the newest of the others. */
export async function findIncidents({ status, acknowledged, monitorId, period, until, count }: Filter, signal: AbortSignal): Promise<Found> {
  const seconds = PERIODS[period]?.seconds;
  const query = {
    ...(acknowledged === 'true' || acknowledged === 'false' ? { acknowledged: acknowledged as 'true' | 'false' } : {}),
    ...(monitorId !== '' && { monitor_id: monitorId }),
    ...(seconds !== undefined && { since: Math.floor(Date.now() / 1000) - seconds }),
    ...(/^\d{1,11}$/.test(until) && { until: Number(until) }),
  };
  const [open, resolved] = await Promise.all([
    status === 'resolved' ? NOTHING : api.get('/incidents', { query: { ...query, status: 'open', limit: 1000 }, signal }),
    // One more than is shown tells whether there are more.
    status === 'open' ? NOTHING : api.get('/incidents', { query: { ...query, status: 'resolved', limit: count + 1 }, signal }),
  ]);
  return { open: open.incidents, resolved: resolved.incidents.slice(0, count), hasMore: resolved.incidents.length > count };
}
