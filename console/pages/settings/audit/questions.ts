import { api, type Schemas } from '../../../client/api.ts';
import { PERIODS, readCount } from '../../incidents/questions.ts';
import { KINDS } from './words.ts';

export type Entry = Schemas['AuditEntry'];

/** What is looked for, as it stands in the address; texts are empty where nothing is asked. */
export type Filter = { kind: string; object: string; actor: string; period: string; until: string; count: number };

/** `hasMore` = there are older ones; `known` are the ids of channels and agents that there still are. */
export type Found = { entries: readonly Entry[]; hasMore: boolean; known: ReadonlySet<string> };

/** Reads what is asked for out of an address. */
export function readFilter(query: Readonly<Record<string, string>>): Filter {
  const { kind = '', object = '', actor = '', period = '', until = '' } = query;
  return { kind, object, actor, period, until, count: readCount(query) };
}

/** Where the changes of one thing are listed. */
export function changesHref(kind: Entry['object']['kind'], id: string): string {
  return `/settings/audit-log?kind=${kind}&object=${id}`;
}

/** Asks for the newest of them, and for what can be linked to. */
export async function findEntries({ kind, object, actor, period, until, count }: Filter, signal: AbortSignal): Promise<Found> {
  const seconds = PERIODS[period]?.seconds;
  const query = {
    // One more than is shown tells whether there are more.
    limit: count + 1,
    ...(kind in KINDS && { object_kind: kind as Entry['object']['kind'] }),
    ...(kind in KINDS && object !== '' && { object_id: object }),
    ...(actor !== '' && { actor_id: actor }),
    ...(seconds !== undefined && { from: Math.floor(Date.now() / 1000) - seconds }),
    ...(/^\d{1,11}$/.test(until) && { to: Number(until) }),
  };
  const [{ entries }, { channels }, { agents }] = await Promise.all([api.get('/audit-log', { query, signal }), api.get('/channels', { signal }), api.get('/agents', { signal })]);
  return { entries: entries.slice(0, count), hasMore: entries.length > count, known: new Set([...channels, ...agents].map(({ id }) => id)) };
}
