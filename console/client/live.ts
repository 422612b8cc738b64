import { batch, signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Failure, listAll, serviceMs } from './answer.ts';
import {
  request,
  requestPage,
  type Incident,
  type Monitor,
  type Query,
  type RequestOptions,
  type Schemas,
} from './api.ts';
import { LiveStream, liveState, type Change, type LiveKind } from './live-stream.ts';
import { csrfToken, session } from './session-state.ts';
import { loadSession } from './session.ts';

/**
 * All monitors in the order of the API; null until they are loaded. Every change makes a new list that shares its
 * unchanged rows.
 */
export const monitors = signal<readonly Monitor[] | null>(null);

/** Open incidents by the id of their monitor. */
export const openIncidents = signal<ReadonlyMap<string, Incident>>(new Map());

/**
 * Time until which the shown data are up to date, in Unix milliseconds; null before the first response. It does not
 * advance while changes may have been missed.
 */
export const updatedAtMs = signal<number | null>(null);

/** The error of the last attempt to load everything, which is repeated until it succeeds; null after a success. */
export const monitorsError = signal<unknown>(null);

/** Whether everything is being loaded. */
const isLoadingAll = signal(false);

/** The monitors, for components that show a load and its failure. */
export const monitorsLoad = { value: monitors, error: monitorsError, isBusy: isLoadingAll, reload: () => loadAll() };

/**
 * Counts the times that changes may have been missed: the stream was lost, restarted or reset. `madeUp` is the count at
 * the beginning of the last load that succeeded.
 */
const losses = { found: 0, madeUp: 0 };

/** Counts the events after which anything may have changed. */
const resets = signal(0);

type MaintenanceWindow = Schemas['MaintenanceWindow'];

type Listener = (kind: LiveKind, data: Change['data']) => void;

const listeners = new Set<Listener>();

/**
 * Pending requests for everything, the oldest first. Each collects the changes that the stream sends meanwhile, since
 * its response may be older than those.
 */
const underWay = new Set<Change[]>();

/** Delay of a reload after a change, in milliseconds: many changes in a row cause one reload. */
const GATHER_MS = 300;

/** Time in which another tab that signs in receives the next session after ending this one, in milliseconds. */
const SIGN_IN_MS = 1000;

/** Interval of reloading everything without a stream, or after a failed attempt. */
const POLL_MS = 10_000;

/**
 * Calls a listener for every change on the stream, and returns a function that stops it. Without a stream there are no
 * calls; pages that need them poll.
 */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Keeps the monitors up to date until the returned function is called. That clears them, since the next user may be
 * someone else.
 */
export function startLive(): () => void {
  const controller = new AbortController();
  const reload = () => {
    // If the service asked to wait, the poll below reloads after that time.
    if (!isTooSoon(monitorsError.peek())) void loadAll(controller.signal);
  };
  const first = loadAll(controller.signal);
  let soon: ReturnType<typeof setTimeout> | undefined;
  const stream = new LiveStream({
    onLive(isLive) {
      losses.found += 1;
      // Only a response ends `away`, not an attempt to connect.
      if (isLive) {
        if (liveState.peek() !== 'live') {
          // Everything is loaded now, which reports its own failure, unless the service asked to wait.
          if (!isTooSoon(monitorsError.peek())) monitorsError.value = null;
          // Meanwhile another tab may have signed in again, possibly as someone else.
          if (liveState.peek() !== 'connecting') void loadSession().catch(() => undefined);
        }
        liveState.value = 'live';
      } else if (liveState.peek() !== 'away') liveState.value = 'polling';
    },
    onReceived() {
      if (losses.found === losses.madeUp && monitorsError.peek() === null) updatedAtMs.value = serviceMs();
    },
    onSilent() {
      liveState.value = 'away';
    },
    async onEnded(reason) {
      const ended = csrfToken();
      // No other session follows that of a member who was removed.
      if (reason !== 'removed') await new Promise((resolve) => setTimeout(resolve, SIGN_IN_MS));
      await loadSession(reason).catch(() => undefined);
      return ![ended, null].includes(csrfToken());
    },
    onReset() {
      resets.value += 1;
      // The first event arrives during the initial load, and waits for it: then little is new.
      void first.then(reload);
    },
    onChanges: (changes) => {
      for (const since of underWay) since.push(...changes);
      if (changes.some(movesMaintenance))
        soon ??= setTimeout(() => {
          soon = undefined;
          reload();
        }, GATHER_MS);
      take(changes);
      for (const { kind, data } of changes) for (const listener of listeners) listener(kind, data);
    },
  });
  const poll = setInterval(() => {
    // A hanging request blocks the next one: browsers have few connections, and the stream needs one.
    const { value: error } = monitorsError;
    const isDue = liveState.value === 'live' ? isDueAgain(error) : !isTooSoon(error);
    if (isDue && !document.hidden && underWay.size === 0) reload();
  }, POLL_MS);
  return () => {
    controller.abort();
    // Also of the loads that buttons and forms began.
    underWay.clear();
    clearInterval(poll);
    clearTimeout(soon);
    stream.close();
    monitors.value = null;
    monitorsError.value = null;
    openIncidents.value = new Map();
    liveState.value = 'connecting';
    updatedAtMs.value = null;
  };
}

/** Reports whether the maintenance of monitors may have changed: their rows change without an event of their own. */
function movesMaintenance({ kind, data }: Change): boolean {
  if (kind !== 'maintenance') return false;
  const isInProgress = ((data as Partial<MaintenanceWindow>).current ?? null) !== null;
  return isInProgress || monitors.peek()?.some(({ maintenance }) => maintenance?.window_id === data.id) === true;
}

/** Loads all monitors and open incidents again. */
export async function loadAll(abort = new AbortController().signal): Promise<void> {
  const since: Change[] = [];
  const { found } = losses;
  underWay.add(since);
  isLoadingAll.value = true;
  try {
    const [overview, incidents] = await takeEarly(() => askForAll({ signal: abort }));
    // Parsing and rendering thousands of rows at once would be one long frame.
    await new Promise((resolve) => setTimeout(resolve));
    if (abort.aborted || !underWay.has(since)) return;
    forgetUpTo(since);
    batch(() => {
      monitors.value = reuseUnchanged(monitors.peek() ?? [], overview.monitors);
      openIncidents.value = new Map(incidents.map((incident) => [incident.monitor_id, incident]));
      take(since);
      monitorsError.value = null;
      losses.madeUp = found;
      updatedAtMs.value = serviceMs();
    });
    if (liveState.peek() === 'away') liveState.value = 'polling';
  } catch (error) {
    if (abort.aborted || session.peek() === null || !underWay.has(since)) return;
    // The response to an older request may predate the changes that this one was sent for.
    forgetUpTo(since);
    monitorsError.value = error;
    if (liveState.peek() !== 'live') liveState.value = 'away';
  } finally {
    underWay.delete(since);
    isLoadingAll.value = underWay.size > 0;
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

/** Responses that were requested before the session was known; null once they are used. */
const early: { answers: Promise<Everything> | null } = { answers: null };

/**
 * Requests the data of the first page while the session is still loading. Without a session the API refuses, and
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

/** Drops all requests up to the ended one: their responses have nothing newer. */
function forgetUpTo(ended: Change[]): void {
  for (const since of underWay) {
    underWay.delete(since);
    if (since === ended) return;
  }
}

/** Replaces the shown rows of monitors after a change by this page, also in the result of a load in progress. */
export function putMonitors(changed: readonly Monitor[], deleted: readonly string[] = []): void {
  const changes: Change[] = [
    ...changed.map((data) => ({ kind: 'monitor' as const, data })),
    ...deleted.map((id) => ({ kind: 'monitor' as const, data: { id, deleted: true } })),
  ];
  for (const since of underWay) since.push(...changes);
  replaceRows(changed, deleted);
}

function replaceRows(changed: readonly Monitor[], deleted: readonly string[]): void {
  const rows = monitors.peek();
  if (rows === null) return;
  const gone = new Set(deleted);
  // The last of several changes of a monitor counts.
  const fresh = new Map(changed.filter(({ id }) => !gone.has(id)).map((row) => [row.id, row]));
  const remaining: Monitor[] = [];
  for (const row of rows) {
    if (!gone.has(row.id)) remaining.push(fresh.get(row.id) ?? row);
    fresh.delete(row.id);
  }
  monitors.value = [...remaining, ...fresh.values()];
}

/** Applies a batch of changes as one update: a thousand changes make one new list. */
function take(changes: readonly Change[]): void {
  const rows = changes.filter(({ kind }) => kind === 'monitor').map(({ data }) => data);
  const incidents = changes.filter(({ kind }) => kind === 'incident').map(({ data }) => data as Incident);
  batch(() => {
    // The stream sends the same rows as the overview (watchLive in the API's description).
    if (rows.length > 0)
      replaceRows(
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

/** Reuses the row objects that did not change, and the list itself if none did, so that nothing is redrawn. */
function reuseUnchanged(before: readonly Monitor[], after: readonly Monitor[]): readonly Monitor[] {
  const known = new Map(before.map((row) => [row.id, row]));
  const remaining = after.map((row) => {
    const old = known.get(row.id);
    return old !== undefined && isSameRow(old, row) ? old : row;
  });
  return remaining.length === before.length && remaining.every((row, index) => row === before[index])
    ? before
    : remaining;
}

/** Compares two rows. Their values other than strings, numbers and null, such as tags, are small. */
function isSameRow(a: Monitor, b: Monitor): boolean {
  // Unset fields are left out, so that each row may have names that the other lacks.
  for (const name in { ...a, ...b }) {
    const [before, after] = [a[name as keyof Monitor], b[name as keyof Monitor]];
    if (before === after) continue;
    if (typeof after !== 'object' || JSON.stringify(before) !== JSON.stringify(after)) return false;
  }
  return true;
}

/**
 * Reports whether a request that failed (null: none) may succeed by now: the service was away, busy, or limits the
 * rate.
 */
function isDueAgain(error: unknown): boolean {
  if (!(error instanceof Failure)) return error !== null;
  return !isTooSoon(error) && (error.status === 0 || error.status === 429 || error.status >= 500);
}

/** Reports whether the service announced that it would refuse the same request now. */
function isTooSoon(error: unknown): boolean {
  return error instanceof Failure && Date.now() < error.retryAtMs;
}

/**
 * Reloads after changes of the given kinds, after anything may have changed, and every 10 s without the stream or after
 * a failure. `concerns` selects the changes that matter.
 */
export function useReload(
  load: { reload: () => Promise<void>; error: ReadonlySignal<unknown> },
  kinds: readonly LiveKind[],
  concerns: (id: string, data: Change['data']) => boolean = () => true,
): void {
  const latest = useRef({ load, concerns });
  latest.current = { load, concerns };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        if (!isTooSoon(latest.current.load.error.peek())) void latest.current.load.reload();
      }, GATHER_MS);
    };
    let isFirst = true;
    const endings = [
      onChange((kind, data) => kinds.includes(kind) && latest.current.concerns(data.id, data) && soon()),
      resets.subscribe(() => {
        if (!isFirst) soon();
        isFirst = false;
      }),
    ];
    const poll = setInterval(() => {
      const error = latest.current.load.error.peek();
      const isDue = liveState.peek() === 'live' ? isDueAgain(error) : !isTooSoon(error);
      if (isDue && !document.hidden) soon();
    }, POLL_MS);
    return () => {
      for (const end of endings) end();
      clearInterval(poll);
      if (timer !== null) clearTimeout(timer);
    };
  }, []);
}

type Polled = { reload: () => Promise<void>; isBusy?: ReadonlySignal<boolean>; error?: ReadonlySignal<unknown> };

/**
 * Reloads at an interval while `isWanted`, for data that the stream does not report. It waits for a reload in progress,
 * and as long as the service asked.
 */
export function usePoll(load: Polled, isWanted: boolean, everyMs: number): void {
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setInterval(() => {
      const { isBusy, error, reload } = latest.current;
      if (!document.hidden && isBusy?.peek() !== true && !isTooSoon(error?.peek())) void reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [isWanted, everyMs]);
}
