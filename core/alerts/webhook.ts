/** Headers that an owner adds to the deliveries of a webhook, by name as it was written; values are secret. */
export type WebhookHeaders = Readonly<Record<string, string>>;

/** A change of them: null removes a header, others stay. */
export type WebhookHeadersChange = Readonly<Record<string, string | null>>;

/** Most headers of one webhook. */
export const MAX_WEBHOOK_HEADERS = 20;

/** What deliveries carry themselves, or what decides where a request goes and where it ends. */
const RESERVED = [
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept-encoding|user-agent)$/i,
  /^(?:proxy|content|webhook|x-service)-/i,
];

/** Merges a change into the stored headers; a name replaces itself in any case. */
export function mergeWebhookHeaders(stored: WebhookHeaders, change: WebhookHeadersChange): WebhookHeaders {
  const changed = new Set(Object.keys(change).map((name) => name.toLowerCase()));
  const kept = Object.entries(stored).filter(([name]) => !changed.has(name.toLowerCase()));
  const sent = Object.entries(change).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return Object.fromEntries([...kept, ...sent]);
}

/** What is wrong with the names of headers that are to be stored, as a sentence about `headers`; null if nothing. */
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

/** Receivers whose own format a webhook can have, by the names that the API gives them. */
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

/** A request of an owner's own: `body` is a Liquid template over the envelope. */
export type WebhookTemplate = Readonly<{ method: 'POST' | 'PUT' | 'PATCH'; contentType: string; body: string }>;

/** What a webhook is sent; null = the signed envelope. */
export type WebhookFormat = Readonly<{ preset: WebhookPreset }> | Readonly<{ template: WebhookTemplate }> | null;

/** A format in the fields of the API; none where it is the signed envelope. */
export function formatFields(format: WebhookFormat) {
  if (format === null) return {};
  if ('preset' in format) return { preset: format.preset };
  const { method, contentType, body } = format.template;
  return { template: { method, content_type: contentType, body } };
}

/** The most characters of a template, and the most bytes that it may render. */
export const MAX_TEMPLATE_LENGTH = 16_384;
export const MAX_RENDERED_BYTES = 262_144;

/**
 * The processor time of one template, in milliseconds, which its thread bounds. Liquid's own limit goes by the wall's
 * clock: on a busy machine it would refuse what takes no time.
 */
export const RENDER_MS = 250;

/**
 * What came of rendering; `problem` continues a sentence that begins with what was rendered. `isLate`: the template had
 * no turn in time, which another attempt may have.
 */
export type Rendered = { ok: true; text: string } | { ok: false; problem: string; isLate?: boolean };

/** The answer to a template that does not end in time. */
export const TOO_MUCH: Rendered = {
  ok: false,
  problem: `renders too much: at most ${RENDER_MS} ms of processor time and ${MAX_RENDERED_BYTES} bytes are allowed`,
};

/** Receivers that keep an alert open until it is resolved: for them a lost resolve is worse than a late one. */
export const STATEFUL_PRESETS: readonly WebhookPreset[] = ['alertmanager', 'grafana_oncall', 'opsgenie', 'pagerduty'];

/** Whether a receiver keeps alerts open until they are resolved. */
export function isStateful(format: WebhookFormat): boolean {
  return format !== null && 'preset' in format && STATEFUL_PRESETS.includes(format.preset);
}

/** Whether a template renders JSON, as its content type says. */
export function isJson({ contentType }: WebhookTemplate): boolean {
  return /^[^;]*[/+]json\s*(?:;|$)/i.test(contentType);
}

/**
 * What is wrong with a text as a webhook's URL, as the end of a sentence about it. Null when it is a good one:
 * absolute, https, without user and password.
 */
export function findUrlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null) return 'must be an absolute https URL';
  if (url.protocol !== 'https:') return `must be an https URL, not ${url.protocol.slice(0, -1)}`;
  return url.username === '' && url.password === ''
    ? null
    : 'must not contain a username or password: the signature authenticates deliveries';
}
