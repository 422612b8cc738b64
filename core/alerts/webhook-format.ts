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

/** The most characters of a template, and the most bytes that it may render. */
export const MOST_TEMPLATE_LENGTH = 16_384;
export const MOST_RENDERED_BYTES = 262_144;

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
