import type { Response } from 'express';
import { MAX_NOTE, cleanNote } from '../../core/incidents/incident.ts';
import { text, type Problem } from '../../core/input.ts';
import { findSearchEnd, listIncidents, type ListedIncident } from '../../models/incidents/history.ts';
import {
  findIncident,
  listEvidence,
  listIncidentDeliveries,
  listIncidentTransitions,
} from '../../models/incidents/incidents.ts';
import {
  MAX_NOTES,
  acknowledgeIncident,
  addIncidentNote,
  deleteIncidentNote,
  listIncidentNotes,
  unacknowledgeIncident,
  type IncidentNote,
} from '../../models/incidents/notes.ts';
import { findMeasuredMonitor } from '../../models/monitors/monitors.ts';
import { badRequest, conflict, notFound } from '../api-error.ts';
import type { Handler, Parts, Query } from '../handler.ts';
import { cutPage, readPage, type WrittenRequest } from '../pagination.ts';
import { asId, authorOf, callerOf, idOf, isId } from '../request-context.ts';
import { presentIncident, presentIncidentDetail, presentNote, type IncidentRecord } from './presenter.ts';

/** Default number of incidents in a page: history is unbounded (D-05). */
const DEFAULT_LIMIT = 500;

/** Query parameters that both lists share. */
type ListQuery = Query<'listMonitorIncidents'>;

/** `GET /incidents` */
export function listIncidentsHandler(dependencies: Parts<'database' | 'config' | 'now'>): Handler<'listIncidents'> {
  return async (request, response) => {
    const { monitor_id: monitorId, tag: tags } = request.query;
    await answerIncidents(dependencies, { request, response }, { monitorId, tags });
  };
}

/** `GET /monitors/{id}/incidents` */
export function listMonitorIncidentsHandler(
  dependencies: Parts<'database' | 'config' | 'now'>,
): Handler<'listMonitorIncidents'> {
  return async (request, response) => {
    const id = idOf(request);
    const found = await findMeasuredMonitor(dependencies.database, { tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    await answerIncidents(dependencies, { request, response }, { monitorId: id });
  };
}

async function answerIncidents(
  { database, config, now }: Parts<'database' | 'config' | 'now'>,
  { request, response }: { request: WrittenRequest & { query: ListQuery }; response: Response },
  { monitorId, tags }: { monitorId: string | undefined; tags?: readonly string[] | undefined },
): Promise<void> {
  const page = readPage(request);
  const limit = page.limit ?? DEFAULT_LIMIT;
  const { status, acknowledged, since, until, open_since: openSince } = request.query;
  const isUnknownMonitor = monitorId !== undefined && !isId(monitorId);
  const query = {
    tenantId: callerOf(response).tenantId,
    filter: {
      ...(monitorId !== undefined && { monitorId }),
      ...(status && { status }),
      ...(acknowledged !== undefined && { acknowledged: acknowledged === 'true' }),
      ...(since !== undefined && { sinceSeconds: since }),
      ...(until !== undefined && { untilSeconds: until }),
      ...(openSince !== undefined && { openSinceSeconds: openSince }),
      ...(tags !== undefined && { tags }),
    },
    ...(page.after && { before: { startedAtMs: page.after.at, id: page.after.id } }),
    limit: limit + 1,
  };
  const incidents = isUnknownMonitor ? [] : await listIncidents(database, query);
  const positionOf = ({ startedAtMs, id }: { startedAtMs: number; id: string }) => ({ at: startedAtMs, id });
  const end = isUnknownMonitor || incidents.length > limit ? null : await findSearchEnd(database, query);
  const shown = cutPage(
    incidents,
    { limit, searchedTo: end && positionOf(end), positionOf },
    { request, response, publicUrl: config.publicUrl },
  );
  const nowMs = now();
  response.json({ incidents: shown.map((incident) => presentIncident(incident, nowMs)) });
}

/**
 * Reads a note in the form that is stored; throws 400 if nothing of it is visible. Replaces NUL and lone surrogates.
 */
function readNote(field: string, written: string): string {
  const problems: Problem[] = [];
  const note = text(MAX_NOTE)(cleanNote(written), field, problems);
  if (note === undefined) throw badRequest(...problems.map(({ message }) => message));
  return note;
}

/** Maximum number of entries in each list of an incident. */
const MAX_SHOWN = 500;

/** `GET /incidents/{id}` */
export function getIncidentHandler({
  database,
  now,
  config,
  recordFailedCheck,
}: Parts<'database' | 'now' | 'config' | 'recordFailedCheck'>): Handler<'getIncident'> {
  const traces = { areSent: recordFailedCheck !== null, urlTemplate: config.traceUrl ?? null };
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const incident = await findIncident(database, key);
    if (incident === null) throw notFound('incident', key.id);
    const [timeline, evidence, notes] = await Promise.all([
      listIncidentTransitions(database, incident, MAX_SHOWN),
      listEvidence(database, incident.id),
      listIncidentNotes(database, incident.id),
    ]);
    const deliveries = await listIncidentDeliveries(database, incident, {
      untilMs: decidedOverAtMs(incident, timeline),
      limit: MAX_SHOWN + 1,
    });
    response.json(
      presentIncidentDetail(
        { incident, timeline, evidence, deliveries, notes },
        { nowMs: now(), mostShown: MAX_SHOWN, traces },
      ),
    );
  };
}

/** `POST /incidents/{id}/acknowledge` */
export function acknowledgeIncidentHandler({
  database,
  now,
  makeId,
}: Parts<'database' | 'now' | 'makeId'>): Handler<'acknowledgeIncident'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const { body } = request;
    const written = body?.note === undefined ? null : readNote('note', body.note);
    const { name } = callerOf(response).actor;
    const nowMs = now();
    const note = written === null ? null : { id: makeId('note'), author: name, text: written, createdAtMs: nowMs };
    const incident = await acknowledgeIncident(database, { ...key, author: authorOf(response) }, { name, nowMs, note });
    if (incident === null) throw notFound('incident', key.id);
    if (incident === 'full') throw isFull(key.id);
    response.json(presentIncident(incident, nowMs));
  };
}

/** `DELETE /incidents/{id}/acknowledge` */
export function unacknowledgeIncidentHandler({
  database,
  now,
}: Parts<'database' | 'now'>): Handler<'unacknowledgeIncident'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const incident = await unacknowledgeIncident(database, { ...key, author: authorOf(response) });
    if (incident === null) throw notFound('incident', key.id);
    response.json(presentIncident(incident, now()));
  };
}

/** `POST /incidents/{id}/notes` */
export function addIncidentNoteHandler({
  database,
  now,
  makeId,
}: Parts<'database' | 'now' | 'makeId'>): Handler<'addIncidentNote'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const note: IncidentNote = {
      id: makeId('note'),
      author: callerOf(response).actor.name,
      text: readNote('text', request.body.text),
      createdAtMs: now(),
    };
    const { outcome } = await addIncidentNote(database, { ...key, author: authorOf(response) }, note);
    if (outcome === 'unknown_incident') throw notFound('incident', key.id);
    if (outcome === 'full') throw isFull(key.id);
    response.status(201).json(presentNote(note));
  };
}

/** `DELETE /incidents/{id}/notes/{note_id}` */
export function deleteIncidentNoteHandler({ database }: Parts<'database'>): Handler<'deleteIncidentNote'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const noteId = asId(request.params.note_id);
    if (!(await deleteIncidentNote(database, { ...key, author: authorOf(response) }, noteId))) {
      throw (await findIncident(database, key)) === null ? notFound('incident', key.id) : notFound('note', noteId);
    }
    response.status(204).end();
  };
}

/**
 * Returns when the end of an incident was decided, in Unix milliseconds; null if unknown. Notifications may be sent
 * until then, which is later than the actual end.
 */
function decidedOverAtMs(
  { resolution }: ListedIncident,
  { transitions, isCut }: IncidentRecord['timeline'],
): number | null {
  const hasEnding = (resolution === 'recovered' || resolution === 'paused') && !isCut;
  return hasEnding ? (transitions.at(-1)?.detectedAtMs ?? null) : null;
}

function isFull(id: string): Error {
  return conflict(`incident ${id} has reached the limit of ${MAX_NOTES} notes: delete one first`);
}
