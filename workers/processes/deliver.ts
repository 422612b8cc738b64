import { attemptWebhook } from '../../notifications/webhook/attempt.ts';
import { openWebhookSending } from '../../notifications/webhook/sending.ts';
import { QUEUES } from '../../queues/names.ts';
import type { DeliverJob } from '../../queues/payloads.ts';
import { postponeJob } from '../../queues/postpone.ts';
import { createDeliverer } from '../deliver.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

export type DeliverProcessOptions = { allowPrivateNetwork: boolean; deadlineMs: number; retrySeconds: readonly number[] };

/** Attempts under way at a time: they wait for receivers, they do not compute. */
const ATTEMPTS_AT_ONCE = 200;

/** A killed worker's job goes to another one after this; its claim in the database says when it may be attempted again. */
const LOCK_MS = 15_000;

/** Starts sending: each job is one attempt of one delivery. */
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
      const result = await deliver(job.data.deliveryId);
      return 'postponeMs' in result ? await postponeJob(job, token, result.postponeMs) : result;
    },
    { concurrency: ATTEMPTS_AT_ONCE, lockDurationMs: LOCK_MS },
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
