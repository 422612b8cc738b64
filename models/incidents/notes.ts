import type { Author, FieldChanges } from '../../core/accounts/audit-entry.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import { notifyChange } from '../changes.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { INCIDENT_COLUMNS, type ListedIncident } from './history.ts';

/** A note of an incident; `author` is the name of the user or token that wrote it. */
export type IncidentNote = { id: string; author: string; text: string; createdAtMs: number };

/** Maximum number of notes of one incident, so that they are always shown in full. */
export const MAX_NOTES = 500;

/** Result of adding a note. */
type AddedNote = { outcome: 'added'; note: IncidentNote } | { outcome: 'full' } | { outcome: 'unknown_incident' };

/** Lists the notes of an incident, the oldest first. */
export async function listIncidentNotes(database: Database, incidentId: string): Promise<IncidentNote[]> {
  return await runOn(database.pool)<IncidentNote>(
    'SELECT id, author, text, created_at AS "createdAtMs" FROM incident_notes WHERE incident_id = $1 ORDER BY ' +
      'created_at, id LIMIT $2',
    [incidentId, MAX_NOTES],
  );
}

/** Adds a note to a tenant's incident, unless it is full. */
export async function addIncidentNote(
  database: Database,
  { author, ...key }: RowKey & Authored,
  note: IncidentNote,
): Promise<AddedNote> {
  return await inTransaction(database, async (run) => {
    const incident = await lockIncident(run, key);
    if (incident === null) return { outcome: 'unknown_incident' };
    if (!(await insertNote(run, key, note))) return { outcome: 'full' };
    await auditIncident(run, author, { key, incident, changes: { note: [null, note.text] } });
    return { outcome: 'added', note };
  });
}

/** Deletes a note of a tenant's incident; false if there is none. */
export async function deleteIncidentNote(
  database: Database,
  { author, ...key }: RowKey & Authored,
  noteId: string,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const incident = await lockIncident(run, key);
    if (incident === null) return false;
    const [deleted] = await run<{ text: string }>(
      'DELETE FROM incident_notes WHERE id = $2 AND incident_id = $1 RETURNING text',
      [key.id, noteId],
    );
    if (deleted === undefined) return false;
    await notifyChange(run, { ...key, kind: 'incident' });
    await auditIncident(run, author, { key, incident, changes: { note: [deleted.text, null] } });
    return true;
  });
}

/**
 * Acknowledges a tenant's incident in any state, and returns it; a previous acknowledgement is kept. Adds the note,
 * unless the same author has added the same text before, so that a request may be repeated. Null if the tenant has no
 * such incident; `full`, and changes nothing, if there is no room for the note.
 */
export async function acknowledgeIncident(
  database: Database,
  { author, ...key }: RowKey & Authored,
  by: { name: string; nowMs: number; note: IncidentNote | null },
): Promise<ListedIncident | 'full' | null> {
  return await inTransaction(database, async (run) => {
    const incident = await lockIncident(run, key);
    if (incident === null) return null;
    const note = by.note !== null && !(await hasNote(run, key.id, by.note)) ? by.note : null;
    if (note !== null && !(await insertNote(run, key, note))) return 'full';
    const isFirst = incident.acknowledgedAtMs === null;
    await auditIncident(run, author, {
      key,
      incident,
      changes: {
        ...(isFirst && { acknowledged_by: [null, by.name] }),
        ...(note !== null && { note: [null, note.text] }),
      },
    });
    if (!isFirst) return incident;
    await run('UPDATE incidents SET acknowledged_at = $2, acknowledged_by = $3 WHERE id = $1', [
      key.id,
      by.nowMs,
      by.name,
    ]);
    return { ...incident, acknowledgedAtMs: by.nowMs, acknowledgedBy: by.name };
  });
}

/** Withdraws an acknowledgement and returns the incident; null if the tenant has no such incident. */
export async function unacknowledgeIncident(
  database: Database,
  { author, ...key }: RowKey & Authored,
): Promise<ListedIncident | null> {
  return await inTransaction(database, async (run) => {
    const incident = await lockIncident(run, key);
    if (incident === null || incident.acknowledgedAtMs === null) return incident;
    await run('UPDATE incidents SET acknowledged_at = NULL, acknowledged_by = NULL WHERE id = $1', [key.id]);
    await auditIncident(run, author, {
      key,
      incident,
      changes: { acknowledged_by: [incident.acknowledgedBy, null] },
    });
    return { ...incident, acknowledgedAtMs: null, acknowledgedBy: null };
  });
}

async function auditIncident(
  run: Run,
  author: Author | null,
  { key, incident, changes }: { key: RowKey; incident: ListedIncident; changes: FieldChanges },
): Promise<void> {
  await insertAuditEntry(run, author, {
    tenantId: key.tenantId,
    object: { kind: 'incident', id: key.id, name: incident.monitorName },
    changes,
  });
}

/** Locks an incident, so that concurrent changes wait for each other. */
async function lockIncident(run: Run, { tenantId, id }: RowKey): Promise<ListedIncident | null> {
  const [incident] = await run<ListedIncident>(
    `SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE id = $1 AND tenant_id = $2 FOR NO KEY UPDATE`,
    [id, tenantId],
  );
  return incident ?? null;
}

async function hasNote(run: Run, incidentId: string, { author, text }: IncidentNote): Promise<boolean> {
  const same = await run('SELECT FROM incident_notes WHERE incident_id = $1 AND author = $2 AND text = $3 LIMIT 1', [
    incidentId,
    author,
    text,
  ]);
  return same.length > 0;
}

/** Inserts a note; false if the incident is full. */
async function insertNote(
  run: Run,
  { tenantId, id: incidentId }: RowKey,
  { id, author, text, createdAtMs }: IncidentNote,
): Promise<boolean> {
  const rows = await run(
    `INSERT INTO incident_notes (id, incident_id, author, text, created_at)
     SELECT $1::text, $2::text, $3::text, $4::text, $5::bigint WHERE (SELECT count(*) FROM incident_notes
       WHERE incident_id = $2::text) < ${MAX_NOTES} RETURNING id`,
    [id, incidentId, author, text, createdAtMs],
  );
  if (rows.length > 0) await notifyChange(run, { tenantId, kind: 'incident', id: incidentId });
  return rows.length > 0;
}
