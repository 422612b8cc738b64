import { buildTestMessage, type StoredMessage } from '../../core/alerts/envelope.ts';
import type { WebhookHeaders } from '../../core/alerts/webhook-headers.ts';
import type { AttemptResult } from '../attempt-result.ts';
import { attemptWebhook, type WebhookSending } from './attempt.ts';

/**
 * A webhook to be tried, before it is saved or whenever its owner asks. `publicUrl` is the base of links, without a
 * slash at its end.
 */
export type TestedWebhook = {
  url: string;
  signingSecret: string;
  previousSecret?: string | null;
  headers?: WebhookHeaders;
  deliveryId: string;
  publicUrl: string;
};

/**
 * What came of a test. `error` is null when it was taken, otherwise a text that starts with `test delivery failed` and
 * names the cause. `attempt` and `message` are for the log of deliveries.
 */
export type TestResult = { error: string | null; attempt: AttemptResult; message: StoredMessage };

/** Sends the test delivery of a webhook, once (D-52): it is taken when it is answered 2xx in time. */
export async function sendTestDelivery(webhook: TestedWebhook, sending: WebhookSending): Promise<TestResult> {
  const { publicUrl, ...delivery } = webhook;
  const message = buildTestMessage({ nowMs: sending.now(), publicUrl });
  return testResultOf(await attemptWebhook({ ...delivery, attempt: 1, message }, sending), message);
}

/** What came of one attempt at any channel, reported as that of a test. */
export function testResultOf(attempt: AttemptResult, message: StoredMessage): TestResult {
  return { error: attempt.error === null ? null : `test delivery failed: ${attempt.error}`, attempt, message };
}
