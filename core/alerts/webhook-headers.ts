/** Headers that an owner adds to the deliveries of a webhook, by name as it was written; values are secret. */
export type WebhookHeaders = Readonly<Record<string, string>>;

/** A change of them: null removes a header, others stay. */
export type WebhookHeadersChange = Readonly<Record<string, string | null>>;

/** Most headers of one webhook. */
export const MOST_WEBHOOK_HEADERS = 20;

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
      return `headers.${name} must not be sent: deliveries set this header themselves`;
    if (known.has(name.toLowerCase())) return `headers must name each header once whatever its case, got ${name} twice`;
    known.add(name.toLowerCase());
  }
  return null;
}
