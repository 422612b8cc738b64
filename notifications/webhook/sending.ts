import { Agent } from 'node:https';
import {
  buildTestMessage,
  completeEnvelope,
  webhookMessageOf,
  type EventMessage,
  type StoredMessage,
} from '../../core/alerts/envelope.ts';
import { sampleMessage, type SampleKind } from '../../core/alerts/samples.ts';
import type { WebhookFormat, WebhookHeaders } from '../../core/alerts/webhook.ts';
import { createHttpClient } from '../../net/http-client.ts';
import type { AttemptResult } from '../attempt-result.ts';
import { attemptWebhook, type WebhookSending } from './attempt.ts';
import { renderChecked } from './prepare.ts';
import { createTemplateRenderer, type TemplateRenderer } from './template/renderer.ts';

/**
 * How long an unused connection is kept, in milliseconds. That is well below the idle timeout of servers, so that a
 * request never races with a close. Such a request would have to be repeated without knowing whether it was accepted.
 */
const IDLE_MS = 1000;

/**
 * Creates the connection pool that a process's webhook attempts share, so that a burst to one receiver needs few
 * handshakes.
 */
export function createWebhookAgent(): Agent {
  return new Agent({ keepAlive: true, timeout: IDLE_MS });
}

/**
 * Opens the resources for a process's webhook attempts; `deadlineMs` spans each whole exchange. Without
 * `allowPrivateNetwork` it reaches public addresses only (D-30). Call `close` when the last attempt is over.
 */
export function openWebhookSending(options: {
  allowPrivateNetwork: boolean;
  deadlineMs: number;
}): WebhookSending & { close: () => Promise<void> } {
  const { allowPrivateNetwork, deadlineMs } = options;
  const agent = createWebhookAgent();
  const renderer = createTemplateRenderer();
  return {
    http: createHttpClient({ allowPrivateNetwork, purpose: 'notifications' }),
    agent,
    deadlineMs,
    now: Date.now,
    renderer,
    async close() {
      agent.destroy();
      await renderer.close();
    },
  };
}

/**
 * A webhook to be tested, before it is saved or when its owner requests it. `publicUrl` is the base of links, without a
 * trailing slash.
 */
export type TestedWebhook = {
  url: string;
  signingSecret: string;
  previousSecret?: string | null;
  headers?: WebhookHeaders;
  format?: WebhookFormat;
  account: string;
  deliveryId: string;
  publicUrl: string;
};

/**
 * Result of a test. `error` is null if the test delivery was accepted, otherwise a text that starts with `test delivery
 * failed` and names the cause. `attempt` and `message` are for the log of deliveries.
 */
export type TestResult = { error: string | null; attempt: AttemptResult; message: StoredMessage };

/**
 * Sends the test delivery of a webhook, once (D-52): it is accepted with a 2xx in time. A template is first rendered
 * for each kind of event; if one cannot be, nothing is sent.
 */
export async function sendTestDelivery(webhook: TestedWebhook, sending: WebhookSending): Promise<TestResult> {
  const { publicUrl, ...delivery } = webhook;
  const message = buildTestMessage({ nowMs: sending.now(), publicUrl });
  const problem = await findTemplateProblem(
    webhook.format ?? null,
    { account: webhook.account, publicUrl, nowMs: sending.now() },
    sending,
  );
  if (problem !== null)
    return testResultOf(
      { outcome: 'failed', statusCode: null, durationMs: 0, error: problem, response: null },
      message,
    );
  return testResultOf(await attemptWebhook({ ...delivery, attempt: 1, message }, sending), message);
}

/** Converts an attempt at any channel into the result of a test. */
export function testResultOf(attempt: AttemptResult, message: StoredMessage): TestResult {
  return { error: attempt.error === null ? null : `test delivery failed: ${attempt.error}`, attempt, message };
}

type Occasion = { account: string; publicUrl: string; nowMs: number };

/** Returns the problem of a template, as a sentence that names the field and the event; null if there is none. */
async function findTemplateProblem(
  format: WebhookFormat,
  when: Occasion,
  { renderer }: { renderer: Pick<TemplateRenderer, 'render'> },
): Promise<string | null> {
  if (format === null || !('template' in format)) return null;
  for (const message of sampleMessages(when)) {
    const envelope = completeEnvelope(message, { deliveryId: 'dlv_test', sentAtMs: when.nowMs });
    const rendered = await renderChecked({ template: format.template, envelope, account: when.account }, renderer);
    if (!rendered.ok) return `template.body ${rendered.problem} (rendered for ${message.event})`;
  }
  return null;
}

/** One kind for each event; the name contains characters that break hand-built JSON. */
const CHECKED_KINDS: readonly SampleKind[] = [
  'down',
  'up',
  'degraded',
  'unknown',
  'agent_offline',
  'agent_online',
  'expiry',
];

function sampleMessages({ publicUrl, nowMs }: Occasion): EventMessage[] {
  const channel = { id: 'nch_test', type: 'webhook', name: 'Test' } as const;
  const facts = { channel, name: 'Shop "main" \\ checkout', timezone: null, nowMs, publicUrl };
  return CHECKED_KINDS.flatMap((kind) => {
    const message = webhookMessageOf(sampleMessage(kind, facts));
    return message === null || message.event === 'summary' ? [] : [message];
  });
}
