import { attemptWebhook } from '../../notifications/webhook/attempt.ts';
import { openWebhookSending } from '../../notifications/webhook/sending.ts';
import { QUEUES } from '../../queues/names.ts';
import type { DeliverJob } from '../../queues/payloads.ts';
import { postponeJob } from '../../queues/postpone.ts';
import { createDeliverer } from '../deliver.ts';
import { deliverTogether } from '../deliver/deliver-together.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

export type DeliverProcessOptions = { allowPrivateNetwork: boolean; deadlineMs: number; retrySeconds: readonly number[] };

/** Jobs in hand at a time, each of a few attempts under way: they wait for receivers, they do not compute. */
const JOBS_AT_ONCE = 200;

/** A killed worker's job goes to another one after this; its claim in the database says when it may be attempted again. */
const LOCK_MS = 15_000;

/** Starts sending: each job is one attempt of each of its deliveries. */
export function startDeliver(runtime: Runtime, options: DeliverProcessOptions): RunningProcess {
  const { database, backend, queues, log, metrics, now } = runtime;
  const sending = openWebhookSending(options);
  const deliver = createDeliverer({
    database,
    sendWebhook: (delivery) => attemptWebhook(delivery, sending),
    deadlineMs: options.deadlineMs,
    retrySeconds: options.retrySeconds,
    enqueueDelivery: (attempt) => queues.enqueueDelivery(attempt),
    now,
    random: Math.random,
    log,
    onAttempt: (outcome, durationMs) => metrics.deliveryAttempted(outcome, durationMs),
  });
  const worker = backend.createWorker<DeliverJob>(
    QUEUES.deliver,
    async (job, token) => {
      const { outcomes, rest } = await deliverTogether(job.data.deliveryIds, deliver);
      if (rest === null) return outcomes;
      if (rest.deliveryIds.length < job.data.deliveryIds.length) await job.updateData({ deliveryIds: rest.deliveryIds });
      return await postponeJob(job, token, rest.postponeMs);
    },
    { concurrency: JOBS_AT_ONCE, lockDurationMs: LOCK_MS },
  );
  worker.on('failed', (job, error) => log.error({ err: error, job_id: job?.id }, 'delivery.job_failed'));
  return {
    name: 'deliver',
    async stop() {
      await worker.close();
      sending.agent.destroy();
    },
  };
}
