import { randomBytes } from 'node:crypto';
import type { Channel, ChannelType } from '../core/alerts/channel.ts';
import { buildAlert } from '../core/alerts/chat/alert.ts';
import { identifyEmail } from '../core/alerts/email.ts';
import { webhookMessageOf, type StoredMessage } from '../core/alerts/envelope.ts';
import {
  isSampleSent,
  listSampleKinds,
  sampleMessage,
  sampleReport,
  type SampleFacts,
  type SampleKind,
  type SampledChannel,
} from '../core/alerts/samples.ts';
import { attachReport, buildReportTable } from '../core/statistics/reports/message.ts';
import { buildEmail, type EmailReport } from './email/alert.ts';
import { buildUnsubscribeLink } from './email/links.ts';
import { renderSlackMessage } from './slack/attempt.ts';
import { renderTelegramMessage } from './telegram/sending.ts';
import { buildHeaders } from './webhook/attempt.ts';
import { prepareRequests } from './webhook/prepare.ts';
import { generateSigningSecret } from './webhook/signature.ts';
import type { TemplateRenderer } from './webhook/template/renderer.ts';

/** Placeholder for a secret, because a preview has none. */
const MASK = '***';

/** Maximum characters shown of a body. */
const LONGEST_BODY = 16_384;

/** Time limit for rendering the templates of one request, in milliseconds; the remaining ones are not rendered. */
const RENDERING_MS = 2000;

const DELIVERY_ID = 'dlv_sample';

type PreviewedChannel = SampledChannel &
  Pick<Channel, 'tenantId' | 'urlHost' | 'headerNames' | 'address' | 'reportTimezone'>;

/** One request as it would be sent, its secrets masked. `isCut`: the body is longer than the shown part. */
export type PreviewedRequest = {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  isCut: boolean;
};

type PreviewedEmail = { to: string; subject: string; text: string; html: string; attachment: string | null };

/**
 * A message as a channel would send it now; `problem` is why it differs from its owner's template, null if it does not.
 */
export type MessagePreview = {
  kind: SampleKind;
  event: StoredMessage['event'];
  isSent: boolean;
  requests: readonly PreviewedRequest[];
  email: PreviewedEmail | null;
  problem: string | null;
};

type Parts = { nowMs: number; publicUrl: string; renderer: Pick<TemplateRenderer, 'render'> };

type Rendered = Pick<MessagePreview, 'requests' | 'email' | 'problem'>;

/**
 * Renders a sample of every kind of message for a channel, by the functions that its deliveries use. The channel's
 * secrets are not opened: `***` replaces them.
 */
export async function previewMessages(channel: PreviewedChannel, parts: Parts): Promise<MessagePreview[]> {
  const renderer = limitTime(parts.renderer);
  const previews: MessagePreview[] = [];
  for (const kind of listSampleKinds(channel)) {
    const { nowMs, publicUrl } = parts;
    const facts = { channel, name: 'Shop', timezone: channel.reportTimezone, nowMs, publicUrl };
    const message = sampleMessage(kind, facts);
    const rendered =
      channel.type === 'webhook'
        ? await renderWebhook(channel, message, { ...parts, renderer })
        : RENDERERS[channel.type]({ channel, message, facts });
    const event = kind === 'test' ? 'test' : message.event;
    previews.push({ kind, event, isSent: isSampleSent(channel, kind), ...rendered });
  }
  return previews;
}

/** Limits the templates of a whole page of samples to the time that a few may take. */
function limitTime(renderer: Parts['renderer']): Parts['renderer'] {
  const endsAtMs = performance.now() + RENDERING_MS;
  return {
    render: async (task, account) =>
      performance.now() < endsAtMs
        ? await renderer.render(task, account)
        : { ok: false, problem: 'was not rendered for this preview: those before it took too long' },
  };
}

async function renderWebhook(
  channel: PreviewedChannel,
  stored: StoredMessage,
  { nowMs, renderer }: Parts,
): Promise<Rendered> {
  const message = webhookMessageOf(stored);
  if (message === null) return { requests: [], email: null, problem: null };
  const { format, tenantId: account, headerNames } = channel;
  const delivery = { url: maskedUrlOf(channel), format, account, deliveryId: DELIVERY_ID, message };
  const { requests, problem } = await prepareRequests(delivery, { nowMs, renderer });
  const headers = Object.fromEntries(headerNames.map((name) => [name, MASK]));
  const signed = { ...delivery, headers, signingSecret: generateSigningSecret(randomBytes) };
  return {
    requests: requests.map((request) => ({
      method: request.method,
      url: request.url.href,
      headers: maskSignatures(buildHeaders(request, signed, nowMs)),
      ...cut(request.body.toString('utf8')),
    })),
    email: null,
    problem,
  };
}

/** Returns a masked URL in the form that presets expect, with keys in the path and the query. */
function maskedUrlOf({ urlHost, format }: Pick<PreviewedChannel, 'urlHost' | 'format'>): string {
  const hasKey = format !== null && 'preset' in format && format.preset === 'pagerduty';
  return `https://${urlHost ?? 'unknown'}/${MASK}${hasKey ? `?routing_key=${MASK}` : ''}`;
}

/** Masks signatures: without the channel's secret they would not verify. */
function maskSignatures(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      /signature/i.test(name) ? value.replace(/(?<=^sha256=|^v1,).*/, MASK) : value,
    ]),
  );
}

type Chat = { channel: PreviewedChannel; message: StoredMessage; facts: SampleFacts };

const RENDERERS = {
  slack: ({ message, facts }) =>
    chatRequest(`https://hooks.slack.com/services/${MASK}`, renderSlackMessage(buildAlert(message, facts.nowMs))),
  telegram: ({ message, facts }) =>
    chatRequest(`https://api.telegram.org/bot${MASK}/sendMessage`, {
      ...renderTelegramMessage('0', buildAlert(message, facts.nowMs)),
      chat_id: MASK,
    }),
  email: renderEmail,
} satisfies Record<Exclude<ChannelType, 'webhook'>, (chat: Chat) => Rendered>;

function renderEmail({ channel, message, facts }: Chat): Rendered {
  const { to, subject, text, html, attachment } = buildEmail({
    account: '',
    ...identifyEmail({ deliveryId: DELIVERY_ID, attemptsBefore: 0, message }),
    to: channel.address ?? '',
    message: buildAlert(message, facts.nowMs),
    unsubscribeUrl: buildUnsubscribeLink(channel.id, facts.publicUrl, () => MASK),
    report: reportOf(message, facts),
  });
  const email = { to, subject, text, html, attachment: attachment?.filename ?? null };
  return { requests: [], email, problem: null };
}

function chatRequest(url: string, body: object): Rendered {
  const headers = { 'Content-Type': 'application/json' };
  return {
    requests: [{ method: 'POST', url, headers, ...cut(JSON.stringify(body)) }],
    email: null,
    problem: null,
  };
}

function reportOf(message: StoredMessage, facts: SampleFacts): EmailReport | null {
  if (message.event !== 'report') return null;
  const monitors = sampleReport(facts);
  const { period, period_start: startSeconds, timezone = 'UTC' } = message.report;
  return { table: buildReportTable(monitors), attachment: attachReport(monitors, { period, startSeconds, timezone }) };
}

function cut(body: string): Pick<PreviewedRequest, 'body' | 'isCut'> {
  return { body: body.slice(0, LONGEST_BODY).toWellFormed(), isCut: body.length > LONGEST_BODY };
}
