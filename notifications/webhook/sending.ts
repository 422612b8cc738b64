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
 * How long an unused connection is kept, in milliseconds. That is well below what any server waits before it closes
 * one, so that a request never meets its end on the way. One that did would have to be sent again, and it would be
 * unknown whether it had been taken.
 */
const IDLE_MS = 1000;

/**
 * Makes the pool of connections that a process's webhook attempts share, so that a burst to one receiver pays for few
 * handshakes.
 */
export function createWebhookAgent(): Agent {
  return new Agent({ keepAlive: true, timeout: IDLE_MS });
}

/**
 * Opens what webhook attempts of a process are made with; `deadlineMs` spans each whole exchange. Without
 * `allowPrivateNetwork` only public addresses are reached (D-30). `close` it when the last attempt is over.
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
 * A webhook to be tried, before it is saved or whenever its owner asks. `publicUrl` is the base of links, without a
 * slash at its end.
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
 * What came of a test. `error` is null when it was taken, otherwise a text that starts with `test delivery failed` and
 * names the cause. `attempt` and `message` are for the log of deliveries.
 */
export type TestResult = { error: string | null; attempt: AttemptResult; message: StoredMessage };

/**
 * Sends the test delivery of a webhook, once (D-52): it is taken when it is answered 2xx in time. A template is
 * rendered for each kind of event first; where one cannot be, nothing is sent.
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

/** What came of one attempt at any channel, reported as that of a test. */
export function testResultOf(attempt: AttemptResult, message: StoredMessage): TestResult {
  return { error: attempt.error === null ? null : `test delivery failed: ${attempt.error}`, attempt, message };
}

type Occasion = { account: string; publicUrl: string; nowMs: number };

/** What is wrong with a template, as a sentence that names the field and the event; null where nothing is. */
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

/** One kind for each event; the name holds what breaks JSON that is put together by hand. */
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
