import { setTimeout as delay } from 'node:timers/promises';
import type { Client as Connection } from 'pg';
import { within } from '../core/time.ts';
import type { Database } from './database.ts';
import type { Run } from './sql.ts';

/**
 * Kinds of rows whose changes are announced to an account. `maintenance`: windows, including their beginning and end;
 * `bulk`: the progress of a bulk change.
 */
const CHANGE_KINDS = ['monitor', 'incident', 'channel', 'agent', 'maintenance', 'bulk'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Kinds of notifications; `session`: sessions of the user with this id ended. */
const NOTIFIED = [...CHANGE_KINDS, 'session'] as const;

/**
 * A row that was created, changed or deleted. The tables send it themselves (`tell_change` in the schema), except for
 * the progress of bulk changes and events of occurrences. A null tenant = all tenants.
 */
export type Change = { tenantId: string | null; kind: (typeof NOTIFIED)[number]; id: string };

type ChangeListener = {
  /** Called once no further change is missed; after an interruption some were missed. */
  onListening: () => void;
  onChange: (change: Change) => void;
  /** Called when the connection is lost. No change is received until `onListening`; reconnecting never stops. */
  onLost: (error: unknown) => void;
};

/** First and maximum pause before reconnecting, in milliseconds; it doubles with each attempt. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5000;

/**
 * Interval of querying the server, and its time limit for a response, in milliseconds. A connection that only listens
 * does not notice a cut.
 */
const ASK_EVERY_MS = 15_000;
const ANSWER_MS = 5000;

/** Time limit for closing a connection, in milliseconds. */
const GOODBYE_MS = 1000;

/**
 * Announces a change of rows that belong to this one, which itself does not change; received once the caller's
 * transaction is committed.
 */
export async function notifyChange(run: Run, { tenantId, kind, id }: Change): Promise<void> {
  await run(`SELECT pg_notify('spotcheck_changes', $1)`, [`${tenantId ?? '*'} ${kind} ${id}`]);
}

/** Announces that sessions of a user ended, so that their streams end as well. */
export async function notifySessionsEnded(run: Run, userId: string): Promise<void> {
  await notifyChange(run, { tenantId: null, kind: 'session', id: userId });
}

/** Listens for committed changes of all tenants on a separate connection, until it is stopped. */
export function listenToChanges(
  { Client }: Pick<Database, 'Client'>,
  listener: ChangeListener,
): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const listening = keepListening(Client, listener, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await listening;
    },
  };
}

async function keepListening(Client: Database['Client'], listener: ChangeListener, signal: AbortSignal): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    const onListening = () => {
      pauseMs = FIRST_PAUSE_MS;
      if (!signal.aborted) listener.onListening();
    };
    try {
      await listenOnce(Client, { ...listener, onListening }, signal);
    } catch (error) {
      if (!signal.aborted) listener.onLost(error);
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
  }
}

/** Resolves once it is stopped; rejects if the connection is lost. */
async function listenOnce(Client: Database['Client'], listener: ChangeListener, signal: AbortSignal): Promise<void> {
  const client = new Client({ keepAlive: true, connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS });
  const lost = new Promise<never>((_resolve, reject) => {
    client.once('end', () => reject(new Error('The connection that listens to changes was closed')));
    client.on('error', reject);
  });
  // Without this handler, a rejection before it is awaited would be unhandled.
  lost.catch(() => undefined);
  client.on('notification', ({ payload = '' }) => {
    const change = readChange(payload);
    if (change !== null) listener.onChange(change);
  });
  try {
    await client.connect();
    await client.query('LISTEN spotcheck_changes');
    listener.onListening();
    await Promise.race([lost, pollServer(client, signal)]);
  } finally {
    await within(
      GOODBYE_MS,
      client.end().catch(() => undefined),
      null,
    );
  }
}

async function pollServer(client: Connection, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(ASK_EVERY_MS, signal);
    if (!signal.aborted) await client.query('SELECT 1');
  }
}

/** Resolves after the given time, or at once when aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/** Parses a notification; null if a newer release sent an unknown kind. */
function readChange(payload: string): Change | null {
  const [tenantId = '', word = '', id = ''] = payload.split(' ');
  const kind = NOTIFIED.find((known) => known === word);
  return kind === undefined || id === '' ? null : { tenantId: tenantId === '*' ? null : tenantId, kind, id };
}
