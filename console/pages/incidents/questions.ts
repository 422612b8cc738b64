import { api, type Schemas } from '../../client/api.ts';
import { MOST, readPaging, type Paging } from '../../parts/further-back.tsx';

export type Incident = Schemas['Incident'];

/** What is looked for, as it stands in the address; texts are empty where nothing is asked. */
export type Filter = { status: string; acknowledged: string; monitorId: string; period: string } & Paging;

/**
 * What was found: `next` is the cursor of what is older; null = nothing is. `hasMoreOpen` = of what is open only the
 * newest are here.
 */
export type Found = {
  open: readonly Incident[];
  resolved: readonly Incident[];
  next: string | null;
  hasMoreOpen: boolean;
};

/** The periods that one can look back, with their seconds. */
export const PERIODS: Readonly<Record<string, { label: string; seconds: number }>> = {
  '1d': { label: 'Last 24 hours', seconds: 86_400 },
  '7d': { label: 'Last 7 days', seconds: 7 * 86_400 },
  '30d': { label: 'Last 30 days', seconds: 30 * 86_400 },
  '90d': { label: 'Last 90 days', seconds: 90 * 86_400 },
};

const NOTHING = { answer: { incidents: [] as Incident[] }, next: null };

/** Reads what is asked for out of an address. */
export function readFilter(query: Readonly<Record<string, string>>): Filter {
  return {
    status: query['status'] ?? '',
    acknowledged: query['acknowledged'] ?? '',
    monitorId: query['monitor_id'] ?? '',
    period: query['period'] ?? '',
    ...readPaging(query),
  };
}

/** Whether anything is left out by it. */
export function isNarrow({ status, acknowledged, monitorId, period, cursor }: Filter): boolean {
  return [status, acknowledged, monitorId, period, cursor].some((part) => part !== '');
}

/**
 * Asks for those that are open, and for the newest of the others; where only the open ones are wanted these are gone
 * through.
 */
export async function findIncidents(
  { status, acknowledged, monitorId, period, cursor, count }: Filter,
  signal: AbortSignal,
): Promise<Found> {
  const seconds = PERIODS[period]?.seconds;
  const query = {
    ...(acknowledged === 'true' || acknowledged === 'false' ? { acknowledged: acknowledged as 'true' | 'false' } : {}),
    ...(monitorId !== '' && { monitor_id: monitorId }),
    ...(seconds !== undefined && { since: Math.floor(Date.now() / 1000) - seconds }),
  };
  const paged = { limit: count, ...(cursor !== '' && { cursor }) };
  const [open, resolved] = await Promise.all([
    status === 'resolved' || (status === '' && cursor !== '')
      ? NOTHING
      : api.page('/incidents', {
          query: { ...query, status: 'open', ...(status === 'open' ? paged : { limit: MOST }) },
          signal,
        }),
    status === 'open' ? NOTHING : api.page('/incidents', { query: { ...query, status: 'resolved', ...paged }, signal }),
  ]);
  const isOpenOnly = status === 'open';
  return {
    open: open.answer.incidents,
    resolved: resolved.answer.incidents,
    next: isOpenOnly ? open.next : resolved.next,
    hasMoreOpen: !isOpenOnly && open.next !== null,
  };
}
