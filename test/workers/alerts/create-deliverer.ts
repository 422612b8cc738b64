import { createIdSource } from '../../../models/secrets/ids.ts';
import { NOTHING_MORE } from '../../../notifications/attempt-result.ts';
import { Deliverer, type DelivererParts } from '../../../workers/alerts/deliver.ts';

/** Result of a message that the receiver accepted. */
export const DELIVERED = {
  ...NOTHING_MORE,
  outcome: 'delivered',
  statusCode: 200,
  durationMs: 1,
  error: null,
  response: null,
} as const;

/** Creates a deliverer with a test's database and overrides; webhooks accept everything. */
export function createDeliverer(given: Pick<DelivererParts, 'database'> & Partial<DelivererParts>): Deliverer {
  return new Deliverer({
    newId: createIdSource(),
    publicUrl: 'https://spotcheck.example',
    sendWebhook: () => Promise.resolve(DELIVERED),
    sendTelegram: null,
    sendSlack: () => Promise.reject(new Error('There is no Slack here')),
    sendEmail: null,
    deadlineMs: 8000,
    retrySeconds: [5, 25, 125],
    channelHealth: { recordFailure: () => Promise.resolve(), recordLoss: () => Promise.resolve() },
    queues: { enqueueAttempts: () => Promise.resolve() },
    metrics: { deliveryAttempted: () => {} },
    log: { info: () => {}, warn: () => {} },
    now: Date.now,
    random: Math.random,
    ...given,
  });
}
