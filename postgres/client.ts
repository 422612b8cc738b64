import { callbackify } from 'node:util';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { SharedCalls } from '../core/shared-calls.ts';

/** Settings of a session by their names in PostgreSQL. They are ours to choose: no value comes from outside. */
export type SessionSettings = Readonly<Record<string, string | number>>;

/** A client of pg that connects to a server of one `DATABASE_URL`, alone or in a pool. */
export type ClientClass = new (config?: ClientConfig) => Client;

type Server = Required<Pick<ClientConfig, 'host' | 'port'>> &
  Pick<ClientConfig, 'user' | 'password' | 'database' | 'ssl'>;

const DEFAULT_PORT = 5432;

/**
 * Settings that a role must be granted (`GRANT SET ON PARAMETER`) unless it is a superuser; without that the server's
 * own values stay.
 */
const GRANTED: ReadonlySet<string> = new Set(['deadlock_timeout']);

/**
 * Time limit for each of several servers to report whether it is the primary, in milliseconds: less than callers wait
 * for a connection.
 */
const PROBE_TIMEOUT_MS = 2000;

/**
 * Creates the class of clients of a `DATABASE_URL`. Of several hosts (`host1:5432,host2:5432`) it connects to the one
 * that accepts writes, and searches again after a connection to it fails. Settings are sent by SET after connecting,
 * because PgBouncer refuses most of them as startup parameters. Connecting rejects with PostgreSQL's own error or, if
 * none of several hosts accepts writes, with one that gives the reason for each.
 */
export function clientClass(databaseUrl: string, settings: SessionSettings = {}): ClientClass {
  const primary = new Primary(listServers(databaseUrl));
  const set = Object.entries(settings).map(setStatement).join('; ');

  return class extends Client {
    constructor(config: ClientConfig = {}) {
      super({ ...config, ...primary.guess });
    }

    override connect(): Promise<Client>;
    override connect(callback: (error: Error | null) => void): void;
    override connect(callback?: (error: Error | null) => void): Promise<Client> | void {
      if (callback === undefined) return this.#connectToPrimary();
      callbackify(() => this.#connectToPrimary())(callback);
    }

    async #connectToPrimary(): Promise<Client> {
      const server = await primary.find();
      const forget = () => primary.forget(server);
      // Only these two differ between the servers of one URL.
      Object.assign(this, { host: server.host, port: server.port });
      this.once('error', forget);
      try {
        await super.connect();
        if (set !== '') await this.query(set);
      } catch (error) {
        forget();
        this.end().catch(() => undefined);
        throw error;
      }
      return this;
    }
  };
}

function setStatement([name, value]: readonly [string, string | number]): string {
  const statement = `SET ${name} = '${value}'`;
  return GRANTED.has(name)
    ? `DO $$ BEGIN ${statement}; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$`
    : statement;
}

/** Runs work on a separate connection, which must open within 5 s by default. */
export async function withConnection<Result>(
  databaseUrl: string,
  work: (client: Client) => Promise<Result>,
  connectionTimeoutMillis = 5000,
): Promise<Result> {
  const client = new (clientClass(databaseUrl))({ connectionTimeoutMillis });
  // A connection that breaks while idle emits here as well; the rejection of the work is what counts.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The server that accepts writes, as far as it is known. */
class Primary {
  readonly #servers: readonly Server[];
  #known: Server | null;
  readonly #searches = new SharedCalls(() => this.#askAll());

  constructor(servers: readonly Server[]) {
    this.#servers = servers;
    this.#known = servers.length === 1 ? this.guess : null;
  }

  /** The server to try first: the known one, or else the first. */
  get guess(): Server {
    const [first] = this.#servers;
    if (first === undefined) throw new Error('DATABASE_URL names no server');
    return this.#known ?? first;
  }

  async find(): Promise<Server> {
    return this.#known ?? (await this.#searches.run());
  }

  /** Makes the next connection search again, unless there is only one server. */
  forget(server: Server): void {
    if (this.#servers.length > 1 && this.#known === server) this.#known = null;
  }

  async #askAll(): Promise<Server> {
    const refusals = new Map<Server, string>();
    const ask = async (server: Server) => {
      try {
        if (await acceptsWrites(server)) return server;
        refusals.set(server, 'is a standby');
      } catch (error) {
        refusals.set(server, error instanceof Error ? error.message : String(error));
      }
      throw new Error('not the primary');
    };
    try {
      this.#known = await Promise.any(this.#servers.map(ask));
      return this.#known;
    } catch {
      const reasons = this.#servers.map((server) => `${server.host}:${server.port} ${refusals.get(server)}`);
      throw new Error(`No server of DATABASE_URL accepts writes: ${reasons.join('; ')}`);
    }
  }
}

async function acceptsWrites(server: Server): Promise<boolean> {
  const client = new Client({
    ...server,
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
    application_name: 'spotcheck primary',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ isReadOnly: string }>(
      `SELECT current_setting('transaction_read_only') AS "isReadOnly"`,
    );
    return rows[0]?.isReadOnly === 'off';
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Parses the servers of a `postgres://` URL; the driver's own parser takes one host at a time. */
function listServers(databaseUrl: string): Server[] {
  const [, scheme = '', credentials = '', hosts = '', rest = ''] =
    /^(\w+:\/\/)((?:[^/?#]*@)?)([^/?#]*)(.*)$/.exec(databaseUrl) ?? [];
  return hosts.split(',').map((host) => {
    const { user, password, database, ssl, ...parsed } = parseIntoClientConfig(`${scheme}${credentials}${host}${rest}`);
    return {
      host: parsed.host ?? 'localhost',
      port: parsed.port ?? DEFAULT_PORT,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
      ...(database !== undefined && { database }),
      ...(ssl !== undefined && { ssl }),
    };
  });
}

/** Further transactions that the test holds open: a pooler may have some idle sessions of other clients. */
const HELD_SESSIONS = 3;

const REFUSAL =
  'DATABASE_URL points to a pooler that changes the session with each transaction, where LISTEN, locks and ' +
  'session settings do not work: use a PgBouncer database with pool_mode = session, or the ' +
  'address of PostgreSQL itself';

/**
 * Rejects, with the remedy, if `DATABASE_URL` leads through a pooler that runs each transaction in another session of
 * PostgreSQL. LISTEN, session locks, settings and prepared statements, all of which Spotcheck uses, would be lost or
 * belong to another client.
 */
export async function refuseTransactionPooling(Connection: ClientClass): Promise<void> {
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = new Connection();
    clients.push(client.on('error', () => undefined));
    await client.connect();
    return client;
  };
  try {
    const first = await connect();
    const own = await sessionOf(first);
    // Each transaction occupies its session; a pooler that shares sessions sooner or later gives it the first client's.
    for (let held = 0; held < HELD_SESSIONS; held += 1) {
      const holder = await connect();
      await holder.query('BEGIN');
      if ((await sessionOf(holder)) === own || (await sessionOf(first)) !== own) throw new Error(REFUSAL);
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}

async function sessionOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}
