import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import express, { type RequestHandler, type Router } from 'express';
import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { listNamesBySlot } from '../../models/checks/checks.ts';
import type { Database } from '../../models/database.ts';
import type { JobQueues } from '../../queues/job-queues.ts';
import type { CheckJob } from '../../queues/payloads.ts';

/** `path` is where the board is served. */
export type QueueBoardOptions = { path: string; database: Database; queues: JobQueues; now: () => number };

/** Interval of reading regions and the names of slots again, in milliseconds. */
const REFRESH_MS = 5000;

/** Maximum number of monitor names shown with a job. */
const NAMES_PER_JOB = 20;

/** The board's page requests its font from a third-party host, which stays blocked: only this server is allowed. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; " +
  "form-action 'self'";

/**
 * Makes the board of all queues, on either backend. Check jobs show the monitors in their slot; their return values
 * contain the results of the last ticks. Access is checked in front of it.
 */
export function createQueueBoard({ path, database, queues, now }: QueueBoardOptions): Router {
  const serverAdapter = new ExpressAdapter().setBasePath(path);
  const board = createBullBoard({
    queues: [],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Spotcheck queues', pollingInterval: { showSetting: true } } },
  });
  let namesByAgent = new Map<number, Map<string, string[]>>();
  let refreshedAtMs = 0;

  const nameMonitors = (job: unknown) =>
    isCheckJob(job)
      ? { ...job, monitors: namesByAgent.get(job.agentNo)?.get(`${job.intervalSeconds}/${job.phase}`) ?? [] }
      : job;

  const refresh = async () => {
    refreshedAtMs = now();
    const regions = await listCheckRegions(database);
    for (const region of regions.values()) queues.checkQueue(region);
    namesByAgent = new Map(
      await Promise.all(
        [...regions.keys()].map(
          async (agentNo) => [agentNo, await listNamesBySlot(database, agentNo, NAMES_PER_JOB)] as const,
        ),
      ),
    );
    const adapters = queues.all().map((queue) => {
      const adapter = new BullMQAdapter(queue);
      adapter.setFormatter('data', nameMonitors);
      return adapter;
    });
    board.setQueues(adapters);
  };

  const keepFresh: RequestHandler = async (_request, response, next) => {
    if (Math.abs(now() - refreshedAtMs) >= REFRESH_MS) await refresh();
    response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY);
    next();
  };
  return express.Router().use(keepFresh, serverAdapter.getRouter());
}

function isCheckJob(data: unknown): data is CheckJob {
  return typeof data === 'object' && data !== null && 'phase' in data && 'intervalSeconds' in data;
}
