import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { apiClient, listOf, type ApiClient } from '../../test/helpers/api-client.ts';
import type { BoundedDisk } from '../../test/helpers/bounded-disk.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { layLink, type Link } from '../../test/helpers/link.ts';
import { startProgram } from '../../test/helpers/program.ts';
import { makeSettableClock, type SettableClock } from '../../test/helpers/set-clock.ts';
import { until } from '../../test/helpers/until.ts';
import { createChannels, ON_CALL, TAG, type ChaosChannel } from './channels.ts';
import { linkName, RECEIVER_LINK, type RedisKind } from './faults.ts';
import { listMembers, startFleet, type Fleet, type FleetSize, type Member } from './fleet.ts';
import { BOT_TOKEN, startReceiver, type Receiver } from './receiver.ts';
import type { MonitorScript } from './script.ts';
import { startServers, type Servers } from './servers.ts';
import { serveTargets, SLOW_FROM_MS, type Targets } from './targets.ts';

/** All running parts of a run. */
export type ChaosHarness = {
  servers: Servers;
  fleet: Fleet;
  links: ReadonlyMap<string, Link>;
  /** Clocks of the processes and of `postgres` by name; empty without libfaketime. */
  clocks: ReadonlyMap<string, SettableClock>;
  receiver: Receiver;
  targets: Targets;
  /** Starts an additional clock process; returns a function that ends it. */
  startSecondClock: () => () => Promise<void>;
  call: ApiClient;
  /** Token of `call`. */
  token: string;
  /** Ids of the monitors, in the order of their scripts. */
  monitorIds: readonly string[];
  /** End of the quiet hours of channels that have them, in Unix milliseconds. */
  quietUntilMs: number;
};

/**
 * Options of a run. `disk`: PostgreSQL stores its data in `data` of this folder; null = on the disk of the run's
 * folder.
 */
export type ChaosHarnessOptions = {
  folder: string;
  size: FleetSize;
  redis: RedisKind;
  scripts: readonly MonitorScript[];
  /** Channels other than the one that gets everything. */
  channels: readonly ChaosChannel[];
  disk: BoundedDisk | null;
};

/** Delays of retries, which together outlast every fault. */
const RETRY_SECONDS = '3,8,20';

/** Name of PostgreSQL's folder in the run's folder. */
export const DATA = 'data';

/** Time limit for all monitors to be up, in milliseconds. */
const UP_WITHIN_MS = 180_000;

/** Number of concurrent requests that create monitors. */
const CREATED_AT_ONCE = 8;

/**
 * Starts servers, fleet, receiver and targets, and creates the channel and monitors of the scripts; resolves when all
 * are up.
 */
export async function startChaosHarness(
  harness: Harness,
  { folder, size, redis, scripts, channels, disk }: ChaosHarnessOptions,
): Promise<ChaosHarness> {
  const logs = join(folder, 'logs');
  await mkdir(logs, { recursive: true });
  const clocks = await makeClocks(
    harness,
    listMembers(size).map(({ name }) => name),
  );
  const servers = await startServers(harness, {
    folder: join(folder, DATA),
    logs,
    clock: clocks.get('postgres'),
    kind: redis,
    disk,
  });
  const receiver = await startReceiver(harness, folder);
  const toReceiver = await layLink(harness, receiver.url);
  const targets = await serveTargets(harness, scripts);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const settings = {
    SECRET_KEYS: `chaos:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
    PUBLIC_URL: 'http://localhost:3000',
    PORT: '0',
    // No server listens there: no run may reach beyond the machine.
    RDAP_BOOTSTRAP_URL: 'http://127.0.0.1:9/dns.json',
    DELIVERY_RETRY_SECONDS: RETRY_SECONDS,
    WEBHOOK_TIMEOUT_SECONDS: '4',
    NODE_EXTRA_CA_CERTS: receiver.caFile,
    TELEGRAM_BOT_TOKEN: BOT_TOKEN,
    TELEGRAM_BOT_NAME: 'chaos_bot',
    TELEGRAM_API_URL: new URL(toReceiver.url).origin,
  };
  const migrated = startProgram(harness, ['cli/spotcheck.ts', 'migrate'], {
    ...settings,
    DATABASE_URL: servers.databaseUrl,
  });
  if ((await migrated.exited) !== 0) throw new Error(`the database could not be prepared: ${migrated.output()}`);

  const links = new Map<string, Link>();
  const onLinks = async (member: Member): Promise<Member> => {
    const toPostgres = await layLink(harness, servers.databaseUrl);
    links.set(linkName(member.name, 'postgres'), toPostgres);
    const env = {
      ...settings,
      ...clocks.get(member.name)?.env,
      ...member.env,
      DATABASE_URL: toPostgres.url,
      REDIS_URL: servers.redisUrl,
    };
    if (servers.cluster !== null) return { ...member, env };
    const toRedis = await layLink(harness, servers.redisUrl);
    links.set(linkName(member.name, 'redis'), toRedis);
    return { ...member, env: { ...env, REDIS_URL: toRedis.url } };
  };
  const members = await Promise.all(listMembers(size).map(onLinks));
  const clock = members.find(({ name }) => name === 'clock');
  if (clock === undefined) throw new Error('there is no clock in the fleet');
  const fleet = await startFleet(harness, { members, folder: logs });
  links.set(RECEIVER_LINK, toReceiver);
  const call: ApiClient = (...request) => apiClient(fleet.urls()[0] ?? '', token)(...request);
  const monitorIds = await createMonitors(call, {
    hookUrl: toReceiver.url,
    scripts,
    targets,
  });
  await until(async () => (await call('GET', '/overview')).json['up'] === scripts.length, {
    timeoutMs: UP_WITHIN_MS,
    intervalMs: 500,
  });
  const { databaseUrl } = servers;
  const quietUntilMs = await createChannels(call, { databaseUrl, hookUrl: toReceiver.url, channels });
  return {
    servers,
    fleet,
    links,
    clocks,
    receiver,
    targets,
    call,
    token,
    monitorIds,
    quietUntilMs,
    startSecondClock() {
      const second = startProgram(harness, clock.args, clock.env);
      return async () => void (await second.stop('SIGKILL'));
    },
  };
}

/**
 * Creates a clock for each process and for PostgreSQL. Redis does not run with libfaketime, and only measures
 * durations.
 */
async function makeClocks(harness: Harness, processes: readonly string[]): Promise<Map<string, SettableClock>> {
  const clocks = new Map<string, SettableClock>();
  for (const name of [...processes, 'postgres']) {
    const clock = await makeSettableClock();
    if (clock === null) break;
    clocks.set(name, clock);
    harness.teardown(clock.remove);
  }
  return clocks;
}

async function createMonitors(
  call: ApiClient,
  given: { hookUrl: string; scripts: readonly MonitorScript[]; targets: Targets },
): Promise<string[]> {
  await whenCreated(() => call('POST', '/channels', { type: 'webhook', name: ON_CALL, url: given.hookUrl }));
  const ids: string[] = [];
  const agents = new Map(listOf(await call('GET', '/agents')).map((agent) => [agent['region'], agent['id']]));
  const create = async (script: MonitorScript): Promise<string> => {
    const monitor = {
      name: `Target ${script.index}`,
      target: given.targets.urlOf(script.index),
      interval_seconds: script.intervalSeconds,
      // A slow machine must not count as a slow target: the timeout is as long as the interval allows.
      timeout_ms: script.intervalSeconds * 1000 - 100,
      down_after_failures: script.downAfterFailures,
      down_min_sources: script.quorum,
      agent_sources: script.regions.map((region) => agents.get(region)),
      check_spec: { assertions: [{ source: 'response_time', op: 'lt', value: `${SLOW_FROM_MS}` }] },
      tags: script.index % 2 === 1 ? [TAG] : [],
      depends_on: script.parent === null ? [] : [{ id: ids[script.parent], mode: 'hold' }],
    };
    return (await whenCreated(() => call('POST', '/monitors', monitor)))['id'];
  };
  let waiting = given.scripts;
  while (waiting.length > 0) {
    const next = waiting.filter(({ parent }) => parent === null || ids[parent] !== undefined).slice(0, CREATED_AT_ONCE);
    const made = await Promise.all(next.map(create));
    next.forEach(({ index }, nth) => (ids[index] = made[nth] ?? ''));
    waiting = waiting.filter(({ index }) => ids[index] === undefined);
  }
  return ids;
}

/**
 * Returns the object that a request created. It retries while the service responds with 503: on a busy machine a
 * request may find no connection to the database in time.
 */
async function whenCreated<Json>(send: () => Promise<{ status: number; json: Json }>): Promise<Json> {
  const answered = async () => {
    const answer = await send();
    return answer.status !== 503 && answer;
  };
  const { status, json } = await until(answered, { intervalMs: 1000 });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json;
}
