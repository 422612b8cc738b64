import { listAgentsById, listChannelsById, listIncidentsById, listMonitorsById } from '../../models/changed-rows.ts';
import type { ChangeKind } from '../../models/changes.ts';
import type { Database } from '../../models/database.ts';
import { presentAgent } from '../agents/agents.ts';
import { presentChannel } from '../alerts/channels.ts';
import { presentIncident } from '../incidents/presenter.ts';
import { presentMonitor } from '../monitors/presenter.ts';

/** What changed for a tenant, by kind. */
export type Changed = ReadonlyMap<ChangeKind, ReadonlySet<string>>;

type Reader = (
  database: Database,
  keys: { tenantId: string; ids: string[] },
  nowMs: number,
) => Promise<{ id: string }[]>;

const READERS = {
  monitor: async (database, keys) => (await listMonitorsById(database, keys)).map(presentMonitor),
  incident: async (database, keys, nowMs) =>
    (await listIncidentsById(database, keys)).map((incident) => presentIncident(incident, nowMs)),
  channel: async (database, keys) => (await listChannelsById(database, keys)).map(presentChannel),
  agent: async (database, keys) => (await listAgentsById(database, keys)).map(presentAgent),
} satisfies Record<ChangeKind, Reader>;

/**
 * Reads the current state of what changed, and writes it as events of a stream. It runs one statement per kind, or one
 * per changed thing where they are few. What is gone is reported as deleted.
 */
export async function readChanges(
  database: Database,
  tenantId: string,
  { changed, nowMs }: { changed: Changed; nowMs: number },
): Promise<string> {
  const events: string[] = [];
  for (const [kind, ids] of changed) {
    const rows = await READERS[kind](database, { tenantId, ids: [...ids] }, nowMs);
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) events.push(writeEvent(kind, found.get(id) ?? { id, deleted: true }, nowMs));
  }
  return events.join('');
}

/**
 * Writes one event of a stream (WHATWG HTML, 9.2); JSON has no line breaks. The id distinguishes a stream that comes
 * back from a new one.
 */
export function writeEvent(event: string, data: object, nowMs: number): string {
  return `event: ${event}\nid: ${nowMs}\ndata: ${JSON.stringify(data)}\n\n`;
}
