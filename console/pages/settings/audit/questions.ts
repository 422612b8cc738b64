import { api, type Schemas } from '../../../client/api.ts';
import { readPaging, type Paging } from '../../../parts/further-back.tsx';
import { PERIODS } from '../../incidents/questions.ts';
import { KINDS } from './words.ts';

export type Entry = Schemas['AuditEntry'];

/** What is looked for, as it stands in the address; texts are empty where nothing is asked. */
export type Filter = { kind: string; object: string; actor: string; period: string } & Paging;

/**
 * `next` is the cursor of what is older; null = nothing is. `known` are the ids of channels and agents that there still
 * are.
 */
export type Found = { entries: readonly Entry[]; next: string | null; known: ReadonlySet<string> };

/** Reads what is asked for out of an address. */
export function readFilter(query: Readonly<Record<string, string>>): Filter {
  const { kind = '', object = '', actor = '', period = '' } = query;
  return { kind, object, actor, period, ...readPaging(query) };
}

/** Where the changes of one thing are listed. */
export function changesHref(kind: Entry['object']['kind'], id: string): string {
  return `/settings/audit-log?kind=${kind}&object=${id}`;
}

/** Asks for the newest of them, and for what can be linked to. */
export async function findEntries(
  { kind, object, actor, period, cursor, count }: Filter,
  signal: AbortSignal,
): Promise<Found> {
  const seconds = PERIODS[period]?.seconds;
  const query = {
    limit: count,
    ...(cursor !== '' && { cursor }),
    ...(kind in KINDS && { object_kind: kind as Entry['object']['kind'] }),
    ...(kind in KINDS && object !== '' && { object_id: object }),
    ...(actor !== '' && { actor_id: actor }),
    ...(seconds !== undefined && { from: Math.floor(Date.now() / 1000) - seconds }),
  };
  const [page, { channels }, { agents }] = await Promise.all([
    api.page('/audit-log', { query, signal }),
    api.get('/channels', { signal }),
    api.get('/agents', { signal }),
  ]);
  return {
    entries: page.answer.entries,
    next: page.next,
    known: new Set([...channels, ...agents].map(({ id }) => id)),
  };
}
