import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { ScheduleChange } from '../../core/checks/slots.ts';
import type { Monitor, MonitorSettings } from '../../core/monitors/monitor.ts';
import { createTenant } from '../../models/accounts/tenants.ts';
import type { Agent } from '../../models/agents/agents.ts';
import { listCheckRegions, registerSharedAgent } from '../../models/agents/shared-agents.ts';
import type { MeasuredResult } from '../../models/checks/check-results.ts';
import type { Database } from '../../models/database.ts';
import {
  createMonitor,
  lockMonitor,
  updateMonitor,
  type LockedMonitor,
  type MonitorChange,
  type StoredMonitor,
} from '../../models/monitors/monitor-changes.ts';
import { inTransaction } from '../../models/sql.ts';
import { openRuntime } from '../../workers/processes/every-process.ts';
import type { Runtime } from '../../workers/runtime.ts';
import { createTestDatabase } from './database.ts';
import type { Harness } from './harness.ts';
import type { QueueBackend } from './queue-backend.ts';
import { PATIENCE_MS } from './with-client.ts';

/** The runtime of workers, on a database for one test, with shortcuts to fill it. */
export type TestRuntime = Runtime & {
  databaseUrl: string;
  /** Opens another runtime on the same servers, as another process would. */
  open(): Runtime;
  tenantId: string;
  logLines: Record<string, unknown>[];
  addAgent(region: string): Promise<Agent>;
  addMonitor(agents: readonly Agent[], settings?: Partial<MonitorSettings>): Promise<Monitor>;
  listRegions(): Promise<Map<number, string>>;
  /** Schedule changes caused by `addMonitor`. */
  scheduleChanges: ScheduleChange[];
};

/** Opens a runtime that closes with the test; without a backend its queues are in PostgreSQL. */
export async function openTestRuntime(t: Harness, backend?: QueueBackend): Promise<TestRuntime> {
  const { databaseUrl, drop } = await createTestDatabase();
  const logLines: Record<string, unknown>[] = [];
  const options = {
    databaseUrl,
    redisUrl: backend?.redisUrl ?? null,
    ...(backend !== undefined && { queuePrefix: `${backend.prefix}-${randomBytes(3).toString('hex')}` }),
    secretKeys: [{ id: 'test', key: randomBytes(32) }],
    publicUrl: 'http://localhost:3000',
    acquireTimeoutMs: PATIENCE_MS,
    log: pino({ level: 'debug' }, { write: (line: string) => void logLines.push(JSON.parse(line)) }),
  };
  const opened: ReturnType<typeof openRuntime>[] = [];
  const open = (): Runtime => {
    const another = openRuntime({ ...options, registry: new Registry() });
    opened.push(another);
    return another.runtime;
  };
  const runtime = open();
  t.teardown(async () => {
    for (const { close } of opened) await close();
    await drop();
  });
  const tenantId = runtime.newId('ten');
  await createTenant(runtime.database, {
    id: tenantId,
    name: tenantId,
    plan: 'pro',
    nowMs: runtime.now(),
    author: null,
  });
  const scheduleChanges: ScheduleChange[] = [];
  return {
    ...runtime,
    open,
    databaseUrl,
    tenantId,
    logLines,
    scheduleChanges,
    listRegions: () => listCheckRegions(runtime.database),
    addAgent: (region) =>
      registerSharedAgent(runtime.database, {
        newId: runtime.newId('agt'),
        region,
        version: '0.1.0',
        arch: 'x64',
        nowMs: runtime.now(),
      }),
    async addMonitor(agents, settings = {}) {
      const created = await createMonitor(
        runtime.database,
        {
          id: runtime.newId('mon'),
          tenantId,
          settings: { ...SETTINGS, downMinSources: Math.min(2, Math.max(1, agents.length)), ...settings },
          secrets: {},
          agentIds: agents.map((agent) => agent.id),
          // The monitor is old enough for the results that tests add.
          nowMs: runtime.now() - 600_000,
          author: null,
        },
        null,
      );
      if (created === null) throw new Error('The monitor was not created');
      scheduleChanges.push(created.schedule);
      return created.monitor;
    },
  };
}

/** A plain http monitor. */
export const SETTINGS: MonitorSettings = {
  name: 'Shop',
  type: 'http',
  target: 'http://127.0.0.1:9/',
  intervalSeconds: 60,
  timeoutMs: 5000,
  method: 'GET',
  expectedStatus: '2xx',
  bodyMatch: null,
  followRedirects: true,
  downAfterFailures: 2,
  upAfterSuccesses: 1,
  downMinSources: 1,
  heartbeatGraceSeconds: null,
  slaTarget: null,
  sla: null,
  reopenSeconds: 0,
  monthlyDrill: false,
  tags: [],
  checkSpec: {},
};

/** Returns a result of one source as the check worker would measure it. */
export function resultOf(
  monitor: Pick<Monitor, 'no'>,
  agent: Pick<Agent, 'no'>,
  given: Pick<MeasuredResult, 'dueAtMs' | 'verdict'> & Partial<MeasuredResult>,
): MeasuredResult {
  const isUp = given.verdict === 'up';
  return {
    monitorNo: monitor.no,
    agentNo: agent.no,
    checksVersion: 1,
    cause: isUp ? null : 'status_503',
    reason: isUp ? null : 'HTTP 503 instead of 2xx',
    latencyMs: 12,
    httpStatus: isUp ? 200 : 503,
    phases: null,
    answer: null,
    ...given,
  };
}

/**
 * Changes a monitor like a PATCH: in a transaction in which `decide` gets the locked row. Null if the monitor does not
 * exist.
 */
export async function changeMonitor(
  database: Database,
  { nowMs, ...key }: { tenantId: string; id: string; nowMs: number },
  decide: (current: LockedMonitor) => MonitorChange | Promise<MonitorChange>,
): Promise<StoredMonitor | null> {
  return await inTransaction(database, async (run) => {
    const locked = await lockMonitor(database, run, key);
    return locked && (await updateMonitor({ database, run, nowMs, author: null }, locked, await decide(locked)));
  });
}
