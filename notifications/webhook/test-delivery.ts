import { buildTestMessage } from '../../core/envelope.ts';
import { attemptWebhook, type WebhookSending } from './attempt.ts';

/** A webhook to be tried before it is saved. `publicUrl` is the base of links, without a slash at its end. */
export type TestedWebhook = { url: string; signingSecret: string; deliveryId: string; publicUrl: string };

/** Sends the test delivery of a new webhook, once (D-52). Null when it was answered 2xx in time, otherwise a text that starts with `test delivery failed` and names the cause. */
export async function sendTestDelivery(webhook: TestedWebhook, sending: WebhookSending): Promise<string | null> {
  const { url, signingSecret, deliveryId, publicUrl } = webhook;
  const message = buildTestMessage({ nowMs: sending.now(), publicUrl });
  const { error } = await attemptWebhook({ url, signingSecret, deliveryId, attempt: 1, message }, sending);
  return error === null ? null : `test delivery failed: ${error}`;
}
