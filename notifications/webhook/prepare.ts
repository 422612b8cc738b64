import { buildAlert } from '../../core/alerts/chat/alert.ts';
import { completeEnvelope, type Envelope, type EventMessage, type GroupMessage } from '../../core/alerts/envelope.ts';
import { isJson, type Rendered, type WebhookFormat, type WebhookTemplate } from '../../core/alerts/webhook.ts';
import { within } from '../../core/time.ts';
import { dedupKeyOf, plainText, presetAlertsOf } from './presets/alert.ts';
import { PRESETS } from './presets/index.ts';
import type { TemplateRenderer } from './template/renderer.ts';

/** One request to a webhook, without the headers of its channel and the signatures. */
export type PreparedRequest = { url: URL; method: string; contentType: string; body: Buffer };

/**
 * Requests to send, in order; `problem` is why the envelope replaces the template, null if it does not. No requests:
 * the template had no turn in time, and another attempt follows.
 */
type Prepared = { requests: PreparedRequest[]; problem: string | null };

type Prepare = {
  url: string;
  format?: WebhookFormat;
  /** The account that owns the webhook: templates of all accounts are rendered in turn. */
  account: string;
  deliveryId: string;
  /** False if another attempt follows a failed one. */
  isLast?: boolean;
  /** Whether a preset must also resolve the receiver's alert that the monitor is unknown. Default false. */
  resolvesUnknown?: boolean;
  message: EventMessage | GroupMessage;
};

/**
 * How long an attempt waits for its template, in milliseconds. Together with the request, it must end before its claim
 * expires, or the attempt would be made twice.
 */
const LONGEST_WAIT_MS = 3000;
const TOO_LATE: Rendered = { ok: false, problem: `was not rendered within ${LONGEST_WAIT_MS / 1000} s`, isLate: true };

/** Prepares the requests for an event at a given time, in the format of the channel. */
export async function prepareRequests(
  { url: address, format = null, account, deliveryId, isLast = true, resolvesUnknown, message }: Prepare,
  { nowMs, renderer }: { nowMs: number; renderer: Pick<TemplateRenderer, 'render'> },
): Promise<Prepared> {
  const url = new URL(address);
  const attempt = { deliveryId, sentAtMs: nowMs };
  if (format === null || message.event === 'summary')
    return { requests: [jsonPost(url, completeEnvelope(message, attempt))], problem: null };
  const envelope = completeEnvelope(message, attempt);
  if ('preset' in format) {
    const requests = PRESETS[format.preset](presetAlertsOf(message, { nowMs, resolvesUnknown }), { url, nowMs });
    return { requests: requests.map((request) => jsonPost(request.url, request.body)), problem: null };
  }
  const { template } = format;
  const rendered = await within(LONGEST_WAIT_MS, renderChecked({ template, envelope, account }, renderer), TOO_LATE);
  // A receiver that expects the template's form may refuse the envelope for good (D-672).
  if (!rendered.ok && rendered.isLate === true && !isLast)
    return { requests: [], problem: `template.body ${rendered.problem}` };
  if (!rendered.ok)
    return {
      requests: [jsonPost(url, envelope)],
      problem: `The signed envelope was sent instead: template.body ${rendered.problem}`,
    };
  const { method, contentType } = template;
  return { requests: [{ url, method, contentType, body: Buffer.from(rendered.text) }], problem: null };
}

/** Renders a template over an envelope; a result that should be JSON but is not has a problem. */
export async function renderChecked(
  { template, envelope, account }: { template: WebhookTemplate; envelope: Envelope; account: string },
  renderer: Pick<TemplateRenderer, 'render'>,
): Promise<Rendered> {
  const text = buildAlert(envelope, envelope.sent_at * 1000);
  const variables = { ...envelope, title: text.title, text: plainText(text), dedup_key: dedupKeyOf(envelope) };
  const rendered = await renderer.render({ template: template.body, variables }, account);
  return rendered.ok && isJson(template) ? checkJson(rendered) : rendered;
}

function checkJson(rendered: Rendered & { ok: true }): Rendered {
  try {
    JSON.parse(rendered.text);
    return rendered;
  } catch {
    return { ok: false, problem: 'does not render valid JSON: write each value as {{ monitor.name | json }}' };
  }
}

function jsonPost(url: URL, body: object): PreparedRequest {
  return { url, method: 'POST', contentType: 'application/json', body: Buffer.from(JSON.stringify(body)) };
}
