import { setTimeout as delay } from 'node:timers/promises';
import type { MonitorSettings } from '../core/monitors/monitor.ts';
import { listCheckRegions, registerSharedAgent } from '../models/agents/shared-agents.ts';
import { createMonitor } from '../models/monitors/monitor-changes.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { openQueueBackend } from '../queues/connection.ts';
import { createScheduleNotifier } from '../queues/enqueue-committed.ts';
import { JobQueues } from '../queues/job-queues.ts';
import type { BenchContext } from './benchmark.ts';
import { BACKENDS, startInstallation, type Backend } from './harness/installation.ts';
import { REGION, chooseSlots } from './harness/monitors.ts';
import { startService } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const INTERVAL_SECONDS = 60;

/** Number of requests that an API has in flight at a time. */
const AT_ONCE = 5;

const POLL_MS = 10;

/** Bounds in seconds: from the last creation until every schedule exists, and from a start until it is ready. */
const APPLIED_SECONDS = 10;
const READY_SECONDS = 5;

/**
 * Schedules 100,000 monitors by the calls that the API makes, until the queue has every schedule; then starts with all
 * of them.
 */
export async function schedules(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) await schedulesOn(context, backend);
}

async function schedulesOn({ isQuick, report, withHarness }: BenchContext, backend: Backend): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const { urls } = await startTarget(harness);
    const { database, tenantId, databaseUrl, redisUrls } = installation;
    const newId = createIdSource();
    const agent = await registerSharedAgent(database, {
      newId: newId('agt'),
      region: REGION,
      version: '0',
      arch: process.arch,
      nowMs: Date.now(),
    });
    const count = isQuick ? 5000 : 100_000;

    await withHarness(async (creating) => {
      const queueBackend = openQueueBackend({
        databaseUrl,
        redisUrl: redisUrls[0] ?? null,
        onError: (error) => report.figure(`queue: ${error.message}`),
      });
      const queues = new JobQueues(queueBackend);
      creating.teardown(() => queueBackend.close());
      creating.teardown(() => queues.close());
      const notify = createScheduleNotifier(queues, () => listCheckRegions(database));
      const startedAt = performance.now();
      let created = 0;
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (created < count) {
            created += 1;
            const settings: MonitorSettings = {
              ...SETTINGS,
              name: `Monitor ${created}`,
              target: `${urls[created % urls.length]}${created}`,
            };
            const stored = await createMonitor(
              database,
              {
                id: newId('mon'),
                tenantId,
                settings,
                secrets: {},
                agentIds: [agent.id],
                nowMs: Date.now(),
                author: null,
              },
              null,
            );
            void notify(stored.schedule);
          }
        }),
      );
      const createdAt = performance.now();
      const wanted = new Set(chooseSlots({ count, intervalSeconds: INTERVAL_SECONDS })).size;
      while ((await queues.checkQueue(REGION).getJobSchedulersCount()) < wanted) await delay(POLL_MS);
      const appliedSeconds = (performance.now() - createdAt) / 1000;
      const seconds = (createdAt - startedAt) / 1000;
      report.figure(
        `${backend}: ${readable(count)} monitors created in ${readable(seconds)} s ` +
          `(${readable((seconds * 1000) / count)} ms each, ${AT_ONCE} at once), ${wanted} schedules`,
      );
      report.bound({
        name: `schedules in place on ${backend}, after the last creation`,
        value: appliedSeconds,
        unit: ' s',
        atMost: APPLIED_SECONDS,
      });
    });

    const { readyAfterMs } = await startService(harness, installation.env);
    report.bound({
      name: `a start with ${readable(count)} monitors on ${backend}, until /readyz`,
      value: readyAfterMs / 1000,
      unit: ' s',
      atMost: READY_SECONDS,
    });
  });
}

const SETTINGS: Omit<MonitorSettings, 'name' | 'target'> = {
  type: 'http',
  intervalSeconds: INTERVAL_SECONDS,
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
