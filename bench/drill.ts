import { setTimeout as delay } from 'node:timers/promises';
import { createApiToken, generateToken } from '../models/accounts/api-tokens.ts';
import { createTenant } from '../models/accounts/tenants.ts';
import { runOn } from '../models/sql.ts';
import type { BenchContext } from './benchmark.ts';
import { percentile } from './figures.ts';
import { BACKENDS, startInstallation, type Backend, type Installation } from './harness/installation.ts';
import { addMonitors, monitorId } from './harness/monitors.ts';
import { addChannel, startReceiver, type Arrival } from './harness/receiver.ts';
import { startService, type Service } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const PER_SECOND = 300;
const INTERVAL_SECONDS = 60;

/** One monitor in this many fails: four alerts a second while the first round of failures lasts. */
const FAIL_EVERY = 75;

/**
 * Duration of failing, nearly a round of checks: in a third of a round by chance none of the failing monitors are
 * checked.
 */
const FAILING_MS = 55_000;

/** Accounts of drills, and the number that each may start in a day; their monitors are checked once an hour. */
const ACCOUNTS = 4;
const DRILLS = 50;
const HOUR_SECONDS = 3600;

/** Largest allowed ratio of the 99th percentiles of drills and real alerts, the larger to the smaller. */
const MAX_APART = 1.2;

/**
 * Measures the time from the failing response to the webhook's arrival, of real failures and of drills. Both are in one
 * run during 300 checks a second: a drill is worth as much as it has in common with an alert.
 */
export async function drill(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) await drillOn(context, backend);
}

async function drillOn({ report, withHarness }: BenchContext, backend: Backend): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const target = await startTarget(harness);
    const receiver = await startReceiver(harness);
    const count = PER_SECOND * INTERVAL_SECONDS;
    const fleet = { targets: target.urls, downAfterFailures: 1 };
    await addMonitors(installation, { ...fleet, count, intervalSeconds: INTERVAL_SECONDS });
    const accounts: Installation[] = [];
    for (let no = 0; no < ACCOUNTS; no += 1) {
      const account = await addAccount(installation, no);
      const first = count + 1 + no * DRILLS;
      await addMonitors(account, { ...fleet, count: DRILLS, first, intervalSeconds: HOUR_SECONDS });
      accounts.push(account);
    }
    const service = await startService(harness, { ...installation.env, NODE_EXTRA_CA_CERTS: receiver.caFile });
    await addChannel(installation, service, receiver.url('hook'));
    for (const account of accounts) await addChannel(account, service, receiver.url('drill'));

    await delay(20_000);
    await target.child.ask({ failEvery: FAIL_EVERY });
    await startDrills({ accounts, service, first: count + 1, forMs: FAILING_MS });
    await target.child.ask({ failEvery: 0 });
    await delay(2000);
    const failures = new Map(await target.child.ask<[string, number][]>({ read: 'failures' }));
    const arrivals = await receiver.arrivals();
    const drills = await readFirstFailures(installation);
    report.figure(`${backend}: ${failures.size} failures, ${drills.size} drills`);
    const real = waysOf(arrivals, { path: '/hook', begun: failures });
    const drilled = waysOf(arrivals, { path: '/drill', begun: drills });
    const p99s = Object.entries({ alerts: real, drills: drilled }).map(([name, ways]) => {
      const p99 = percentile(ways, 0.99);
      report.figure(
        `${backend}: ${ways.length} ${name} arrived; p50 ${readable(percentile(ways, 0.5))} ms, ` +
          `p99 ${readable(p99)} ms, slowest ${readable(percentile(ways, 1))} ms`,
      );
      return p99;
    });
    report.bound({
      name: `p99 of drills and of real alerts on ${backend}, the larger by the smaller`,
      value: Math.max(...p99s) / Math.min(...p99s),
      unit: ' times',
      atMost: MAX_APART,
    });
    report.bound({
      name: `alerts and drills lost on ${backend}`,
      value: failures.size - real.length + (drills.size - drilled.length),
      unit: '',
      atMost: 0,
    });
  });
}

async function addAccount(installation: Installation, no: number): Promise<Installation> {
  const { database } = installation;
  const tenantId = `ten_drill${no}`;
  const token = generateToken('spk');
  const nowMs = Date.now();
  await createTenant(database, { id: tenantId, name: `Drills ${no}`, plan: 'pro', nowMs, author: null });
  await createApiToken(
    database,
    {
      id: `tok_drill${no}`,
      tenantId,
      name: 'drills',
      token,
      scopes: ['read', 'write'],
      expiresAt: null,
      nowMs,
      author: null,
    },
    10,
  );
  return { ...installation, tenantId, token };
}

type Drilling = { accounts: readonly Installation[]; service: Service; first: number; forMs: number };

/** Starts the drills of all accounts one after the other, evenly over a time. */
async function startDrills({ accounts, service, first, forMs }: Drilling): Promise<void> {
  const total = accounts.length * DRILLS;
  const startedAt = performance.now();
  for (let number = 0; number < total; number += 1) {
    await delay(Math.max(0, startedAt + (number * forMs) / total - performance.now()));
    const account = accounts[Math.floor(number / DRILLS)];
    const started = await fetch(`${service.url}/v1/monitors/${monitorId(first + number)}/drill`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account?.token}` },
    });
    if (started.status !== 202) throw new Error(`A drill was answered with ${started.status}: ${await started.text()}`);
  }
}

/** Returns the time of each drill's first failing response by the name of its target, in Unix milliseconds. */
async function readFirstFailures({ database }: Installation): Promise<Map<string, number>> {
  const rows = await runOn(database.pool)<{ target: string; atMs: number }>(
    `SELECT monitor ->> 'target' AS target, (answers -> 0 ->> 'atMs')::bigint AS "atMs" FROM drills
     WHERE answers <> '[]'`,
  );
  return new Map(rows.map(({ target, atMs }) => [target.split('/').at(-1) ?? '', atMs]));
}

/** Returns the time of each alert that arrived at a path since its failing response, in milliseconds. */
function waysOf(
  arrivals: readonly Arrival[],
  { path, begun }: { path: string; begun: ReadonlyMap<string, number> },
): number[] {
  return arrivals.flatMap((arrival) => {
    const beganAtMs = begun.get(arrival.target);
    return arrival.path !== path || beganAtMs === undefined ? [] : [arrival.atMs - beganAtMs];
  });
}
