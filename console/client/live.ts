import { batch, signal } from '@preact/signals';
import { openStream, type Change, type LiveKind } from './live-stream.ts';
import { listAll } from './pages.ts';
import { request, requestPage, type Query, type RequestOptions } from './request.ts';
import { session } from './session-state.ts';
import type { Incident, Monitor, Schemas } from './shapes.ts';

/** Whether what is shown is what is: by the stream, asked every few seconds, or not at all at the moment. */
export const liveState = signal<'connecting' | 'live' | 'polling' | 'away'>('connecting');

/**
 * All monitors, in the order of the API; null until they are there. A new list at every change: its rows are the same
 * where they did not change.
 */
export const monitors = signal<readonly Monitor[] | null>(null);

/** The open incident of each monitor that has one, by the monitor's id. */
export const openIncidents = signal<ReadonlyMap<string, Incident>>(new Map());

/** What went wrong when the monitors were asked for last; null where nothing did. */
export const monitorsError = signal<unknown>(null);

type Listener = (kind: LiveKind, data: Change['data']) => void;

const listeners = new Set<Listener>();

/**
 * Questions for everything that are under way, the oldest first, each with what the stream has sent since: an answer
 * may be older than that.
 */
const underWay = new Set<Change[]>();

/** Without a stream everything is asked for again after so long. */
const POLL_MS = 10_000;

/**
 * Is notified of every change while a page is shown; gives back how to stop. While there is no stream no change is
 * received: pages ask anew by themselves where it matters.
 */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Keeps the monitors as they are until it is stopped; then they are forgotten, for the next person may be another.
 */
export function startLive(): () => void {
  const controller = new AbortController();
  const reload = () => void loadAll(controller.signal);
  // Of the first two, what is asked for at once and what the stream begins with, the second waits: rows are to be
  // there, and it finds little that is new.
  let first: Promise<void> | null = loadAll(controller.signal).finally(() => {
    first = null;
  });
  const stream = openStream({
    onLive: (isLive) => (liveState.value = isLive ? 'live' : 'polling'),
    onReset: () => (first === null ? reload() : void first.then(reload)),
    onChanges: (changes) => {
      for (const since of underWay) since.push(...changes);
      take(changes);
      for (const { kind, data } of changes) for (const listener of listeners) listener(kind, data);
    },
  });
  const poll = setInterval(() => {
    if (liveState.value !== 'live' && !document.hidden) reload();
  }, POLL_MS);
  return () => {
    controller.abort();
    clearInterval(poll);
    stream.close();
    monitors.value = null;
    monitorsError.value = null;
    openIncidents.value = new Map();
    liveState.value = 'connecting';
  };
}

/** Asks for all monitors and open incidents anew. */
export async function loadAll(abort = new AbortController().signal): Promise<void> {
  const since: Change[] = [];
  underWay.add(since);
  try {
    const [overview, incidents] = await takeEarly(() => askForAll({ signal: abort }));
    // Reading thousands and drawing them anew would be one long frame.
    await new Promise((resolve) => setTimeout(resolve));
    if (abort.aborted || !underWay.has(since)) return;
    forgetUpTo(since);
    batch(() => {
      monitors.value = reuseUnchanged(monitors.peek() ?? [], overview.monitors);
      openIncidents.value = new Map(incidents.map((incident) => [incident.monitor_id, incident]));
      take(since);
      monitorsError.value = null;
    });
    if (liveState.peek() === 'away') liveState.value = 'polling';
  } catch (error) {
    if (abort.aborted || session.peek() === null || !underWay.has(since)) return;
    monitorsError.value = error;
    if (liveState.peek() !== 'live') liveState.value = 'away';
  } finally {
    underWay.delete(since);
  }
}

type Everything = [Schemas['Overview'], readonly Incident[]];

function askForAll(options: RequestOptions): Promise<Everything> {
  const askIncidents = (page: Query) =>
    requestPage<Schemas['IncidentList']>('GET', '/incidents', { ...options, query: { status: 'open', ...page } });
  return Promise.all([
    request<Schemas['Overview']>('GET', '/overview', options),
    listAll(askIncidents, ({ incidents }) => incidents),
  ]);
}

/** What was requested before the session was known; null once it is taken. */
const early: { answers: Promise<Everything> | null } = { answers: null };

/**
 * Asks for what the first page needs while it is still asked who is there: of a stranger nothing is reported, and
 * nothing is lost.
 */
export function askEarly(): void {
  early.answers = askForAll({ answersOwn401: true });
  early.answers.catch(() => undefined);
}

async function takeEarly(ask: () => Promise<Everything>): Promise<Everything> {
  const { answers } = early;
  early.answers = null;
  return answers === null ? await ask() : await answers.catch(ask);
}

/** Whatever was asked before has nothing newer to say. */
function forgetUpTo(answered: Change[]): void {
  for (const since of underWay) {
    underWay.delete(since);
    if (since === answered) return;
  }
}

/** Puts rows of monitors in place of the ones that are shown, as after a change by this very page. */
export function putMonitors(changed: readonly Monitor[], deleted: readonly string[] = []): void {
  const rows = monitors.peek();
  if (rows === null) return;
  const gone = new Set(deleted);
  // Of one that changed more than once the last counts.
  const fresh = new Map(changed.filter(({ id }) => !gone.has(id)).map((row) => [row.id, row]));
  const remaining: Monitor[] = [];
  for (const row of rows) {
    if (!gone.has(row.id)) remaining.push(fresh.get(row.id) ?? row);
    fresh.delete(row.id);
  }
  monitors.value = [...remaining, ...fresh.values()];
}

/** Puts what has changed in its place, all of it as one: a storm of a thousand is one new list. */
function take(changes: readonly Change[]): void {
  const rows = changes.filter(({ kind }) => kind === 'monitor').map(({ data }) => data);
  const incidents = changes.filter(({ kind }) => kind === 'incident').map(({ data }) => data as Incident);
  batch(() => {
    // The stream's rows are the overview's (watchLive in the API's description).
    if (rows.length > 0)
      putMonitors(
        rows.filter(({ deleted }) => deleted !== true).map((row) => row as Monitor),
        rows.filter(({ deleted }) => deleted === true).map(({ id }) => id),
      );
    if (incidents.length > 0) putIncidents(incidents);
  });
}

function putIncidents(incidents: readonly Incident[]): void {
  const open = new Map(openIncidents.peek());
  for (const incident of incidents) {
    if (incident.status === 'open') open.set(incident.monitor_id, incident);
    else if (open.get(incident.monitor_id)?.id === incident.id) open.delete(incident.monitor_id);
  }
  openIncidents.value = open;
}

/** Rows that did not change stay the very same, and so what is drawn of them; where none did, so does the list. */
function reuseUnchanged(before: readonly Monitor[], after: readonly Monitor[]): readonly Monitor[] {
  const known = new Map(before.map((row) => [row.id, row]));
  const remaining = after.map((row) => {
    const old = known.get(row.id);
    return old !== undefined && isSame(old, row) ? old : row;
  });
  return remaining.length === before.length && remaining.every((row, index) => row === before[index])
    ? before
    : remaining;
}

/** A row of the overview has nothing but texts, numbers and nulls. */
function isSame(a: Monitor, b: Monitor): boolean {
  for (const name in b) if (a[name as keyof Monitor] !== b[name as keyof Monitor]) return false;
  return true;
}
