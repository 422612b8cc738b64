import { signal } from '@preact/signals';
import { api } from './api.ts';
import { session } from './session-state.ts';
import type { Incident, Monitor } from './shapes.ts';

export type { Incident, Monitor } from './shapes.ts';

/** Whether what is shown is what is: by the stream, asked every few seconds, or not at all at the moment. */
export const liveState = signal<'connecting' | 'live' | 'polling' | 'away'>('connecting');

/** All monitors, in the order of the API; null until they are there. A new list at every change: its rows are the same where they did not change. */
export const monitors = signal<readonly Monitor[] | null>(null);

/** The open incident of each monitor that has one, by the monitor's id. */
export const openIncidents = signal<ReadonlyMap<string, Incident>>(new Map());

/** What went wrong when the monitors were asked for last; null where nothing did. */
export const monitorsError = signal<unknown>(null);

/** What the stream tells of. Of what was deleted only `id` and `deleted` come. */
export type LiveKind = 'monitor' | 'incident' | 'channel' | 'agent';
type Listener = (kind: LiveKind, data: { id: string; deleted?: boolean }) => void;

const listeners = new Set<Listener>();
const KINDS: readonly LiveKind[] = ['monitor', 'incident', 'channel', 'agent'];

/** Without a stream everything is asked for again after so long. */
const POLL_MS = 10_000;
/** A stream that was refused or lost for good is tried again after so long. */
const RETRY_MS = 30_000;
/** A page that nobody looks at for so long needs no stream. */
const HIDDEN_MS = 60_000;

/** Hears of every change while a page is shown; gives back how to stop. While there is no stream nothing is heard: pages ask anew by themselves where it matters. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Keeps the monitors as they are until it is told to stop; then they are forgotten, for the next may be somebody else. */
export function startLive(): () => void {
  const controller = new AbortController();
  const reload = () => void loadAll(controller.signal);
  const stream = openStream(reload);
  reload();
  const poll = setInterval(() => {
    if (liveState.value !== 'live' && !document.hidden) reload();
  }, POLL_MS);
  return () => {
    controller.abort();
    clearInterval(poll);
    stream.close();
    monitors.value = null;
    openIncidents.value = new Map();
    liveState.value = 'connecting';
  };
}

/** The stream of changes, for as long as somebody looks: browsers have six connections for all tabs of a host that speaks HTTP/1.1. */
function openStream(reload: () => void): { close: () => void } {
  const changes = collectChanges();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let source: EventSource | null = null;
  const later = (run: () => void, ms: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
  };
  const disconnect = () => {
    source?.close();
    source = null;
    timers.forEach(clearTimeout);
    timers.clear();
  };
  const connect = () => {
    disconnect();
    const opened = new EventSource('/v1/live');
    source = opened;
    opened.addEventListener('ready', () => {
      liveState.value = 'live';
      reload();
    });
    opened.addEventListener('reset', ({ data }) => {
      liveState.value = 'live';
      later(reload, JSON.parse(data).wait_ms ?? 0);
    });
    opened.addEventListener('error', () => {
      liveState.value = 'polling';
      // The browser comes back by itself, unless the answer was no stream.
      if (opened.readyState === EventSource.CLOSED) later(connect, RETRY_MS);
    });
    for (const kind of KINDS) opened.addEventListener(kind, ({ data }) => changes.add(kind, JSON.parse(data)));
  };
  const follow = () => {
    if (document.hidden) later(() => document.hidden && disconnect(), HIDDEN_MS);
    else if (source === null) {
      liveState.value = 'polling';
      connect();
    }
  };
  document.addEventListener('visibilitychange', follow);
  connect();
  return {
    close() {
      document.removeEventListener('visibilitychange', follow);
      disconnect();
    },
  };
}

/** Asks for all monitors and open incidents anew. */
export async function loadAll(abort = new AbortController().signal): Promise<void> {
  try {
    const [overview, incidents] = await Promise.all([api.get('/overview', { signal: abort }), api.get('/incidents', { query: { status: 'open' }, signal: abort })]);
    if (abort.aborted) return;
    monitors.value = keepSame(monitors.peek() ?? [], overview.monitors);
    openIncidents.value = new Map(incidents.incidents.map((incident) => [incident.monitor_id, incident]));
    monitorsError.value = null;
    if (liveState.peek() === 'away') liveState.value = 'polling';
  } catch (error) {
    if (abort.aborted || session.peek() === null) return;
    monitorsError.value = error;
    if (liveState.peek() !== 'live') liveState.value = 'away';
  }
}

/** Puts rows of monitors in place of the ones that are shown, as after a change by this very page. */
export function putMonitors(changed: readonly Monitor[], deleted: readonly string[] = []): void {
  const rows = monitors.peek();
  if (rows === null) return;
  const byId = new Map(changed.map((row) => [row.id, row]));
  const gone = new Set(deleted);
  const kept = rows.filter(({ id }) => !gone.has(id)).map((row) => byId.get(row.id) ?? row);
  const known = new Set(rows.map(({ id }) => id));
  monitors.value = [...kept, ...changed.filter(({ id }) => !known.has(id))];
}

/** Changes are taken in together, once a frame: a storm of a thousand is one new list. */
function collectChanges(): { add: (kind: LiveKind, data: { id: string; deleted?: boolean }) => void } {
  let pending: { kind: LiveKind; data: { id: string; deleted?: boolean } }[] = [];
  const flush = () => {
    const taken = pending;
    pending = [];
    const rows = taken.filter(({ kind }) => kind === 'monitor');
    // The stream's rows are the overview's (watchLive in the API's description).
    if (rows.length > 0) putMonitors(rows.filter(({ data }) => data.deleted !== true).map(({ data }) => data as Monitor), rows.filter(({ data }) => data.deleted === true).map(({ data }) => data.id));
    const incidents = taken.filter(({ kind }) => kind === 'incident').map(({ data }) => data as Incident);
    if (incidents.length > 0) putIncidents(incidents);
    for (const { kind, data } of taken) for (const listener of listeners) listener(kind, data);
  };
  return {
    add(kind, data) {
      // A page that nobody looks at is given no frames.
      if (pending.length === 0) setTimeout(flush, 16);
      pending.push({ kind, data });
    },
  };
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
function keepSame(before: readonly Monitor[], after: readonly Monitor[]): readonly Monitor[] {
  const known = new Map(before.map((row) => [row.id, row]));
  const kept = after.map((row) => {
    const old = known.get(row.id);
    return old !== undefined && isSame(old, row) ? old : row;
  });
  return kept.length === before.length && kept.every((row, index) => row === before[index]) ? before : kept;
}

/** A row of the overview has nothing but texts, numbers and nulls. */
function isSame(a: Monitor, b: Monitor): boolean {
  return (Object.keys(b) as (keyof Monitor)[]).every((name) => a[name] === b[name]);
}
