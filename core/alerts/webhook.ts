/** Headers that an owner adds to the deliveries of a webhook, by name as written; values are secret. */
export type WebhookHeaders = Readonly<Record<string, string>>;

/** A change of these headers: null removes a header, absent ones stay. */
export type WebhookHeadersChange = Readonly<Record<string, string | null>>;

/** Maximum number of headers per webhook. */
export const MAX_WEBHOOK_HEADERS = 20;

/** Headers that deliveries set themselves, or that control routing and framing of a request. */
const RESERVED = [
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept-encoding|user-agent)$/i,
  /^(?:proxy|content|webhook|x-service)-/i,
];

/** Merges a change into the stored headers; names are matched case-insensitively. */
export function mergeWebhookHeaders(stored: WebhookHeaders, change: WebhookHeadersChange): WebhookHeaders {
  const changed = new Set(Object.keys(change).map((name) => name.toLowerCase()));
  const kept = Object.entries(stored).filter(([name]) => !changed.has(name.toLowerCase()));
  const sent = Object.entries(change).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return Object.fromEntries([...kept, ...sent]);
}

/** Returns the fault in the names of headers to be stored, as a sentence about `headers`; null if there is none. */
export function findHeadersProblem(change: WebhookHeadersChange): string | null {
  const known = new Set<string>();
  for (const name of Object.keys(change)) {
    if (RESERVED.some((reserved) => reserved.test(name)))
      return `headers.${name} cannot be set: deliveries set this header themselves`;
    if (known.has(name.toLowerCase())) return `headers must name each header once, ignoring case, got ${name} twice`;
    known.add(name.toLowerCase());
  }
  return null;
}

/** Receivers whose native format a webhook can use, by their names in the API. */
export const WEBHOOK_PRESETS = [
  'alertmanager',
  'discord',
  'google_chat',
  'gotify',
  'grafana_oncall',
  'mattermost',
  'ntfy',
  'opsgenie',
  'pagerduty',
  'teams',
] as const;
export type WebhookPreset = (typeof WEBHOOK_PRESETS)[number];

/** A custom request: `body` is a Liquid template over the envelope. */
export type WebhookTemplate = Readonly<{ method: 'POST' | 'PUT' | 'PATCH'; contentType: string; body: string }>;

/** Format of a webhook's deliveries; null = the signed envelope. */
export type WebhookFormat = Readonly<{ preset: WebhookPreset }> | Readonly<{ template: WebhookTemplate }> | null;

/** Returns a format as fields of the API; empty for the signed envelope. */
export function formatFields(format: WebhookFormat) {
  if (format === null) return {};
  if ('preset' in format) return { preset: format.preset };
  const { method, contentType, body } = format.template;
  return { template: { method, content_type: contentType, body } };
}

/** Maximum characters of a template, and maximum bytes of its output. */
export const MAX_TEMPLATE_LENGTH = 16_384;
export const MAX_RENDERED_BYTES = 262_144;

/**
 * Processor time limit of one template, in milliseconds, enforced by its thread. Liquid's own limit is wall-clock time:
 * on a busy machine it would reject quick templates.
 */
export const RENDER_MS = 250;

/**
 * Result of rendering; `problem` continues a sentence that begins with the template. `isLate`: the template was not
 * reached in time; another attempt may succeed.
 */
export type Rendered = { ok: true; text: string } | { ok: false; problem: string; isLate?: boolean };

/** Result for a template that exceeds its limits. */
export const TOO_MUCH: Rendered = {
  ok: false,
  problem: `renders too much: at most ${RENDER_MS} ms of processor time and ${MAX_RENDERED_BYTES} bytes are allowed`,
};

/** Receivers that keep an alert open until it is resolved: for them a lost resolve is worse than a late one. */
export const STATEFUL_PRESETS: readonly WebhookPreset[] = ['alertmanager', 'grafana_oncall', 'opsgenie', 'pagerduty'];

/** Reports whether a receiver keeps alerts open until they are resolved. */
export function isStateful(format: WebhookFormat): boolean {
  return format !== null && 'preset' in format && STATEFUL_PRESETS.includes(format.preset);
}

/** Reports whether a template renders JSON, by its content type. */
export function isJson({ contentType }: WebhookTemplate): boolean {
  return /^[^;]*[/+]json\s*(?:;|$)/i.test(contentType);
}

/**
 * Returns the fault in a webhook's URL, as the end of a sentence about it. Null if it is valid: absolute, https,
 * without username and password.
 */
export function findUrlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null) return 'must be an absolute https URL';
  if (url.protocol !== 'https:') return `must be an https URL, not ${url.protocol.slice(0, -1)}`;
  return url.username === '' && url.password === ''
    ? null
    : 'must not contain a username or password: the signature authenticates deliveries';
}
