/** An error response of the API; `status` is 0 if no response came. */
export class Failure extends Error {
  readonly status: number;
  /** The request id to quote to the operator; null if no response came. */
  readonly requestId: string | null;
  /** Seconds until the same request may be accepted; null if the response did not say. */
  readonly retryAfter: number | null;
  /** The whole body, for errors that carry more than a sentence. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    answer: { status: number; requestId?: string | null; retryAfter?: number | null; body?: Record<string, unknown> },
  ) {
    super(message);
    this.status = answer.status;
    this.requestId = answer.requestId ?? null;
    this.retryAfter = answer.retryAfter ?? null;
    this.body = answer.body ?? {};
  }
}

/** Returns the sentence to show for any thrown value. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Failure) return capitalize(error.message);
  return 'Something went wrong on this page. Reload it';
}

/**
 * Splits an error of the API by field: each sentence goes to the field that it begins with, all others to `rest`.
 * Fields are named as in the API: `check_spec.ping.count`, `monitor_ids[2]`. A sentence about part of a listed field
 * belongs to that field.
 */
export function problemsByField(
  error: unknown,
  fields: readonly string[],
): { byField: Readonly<Record<string, string>>; rest: string | null } {
  if (!(error instanceof Failure) || error.status !== 400)
    return { byField: {}, rest: error === null || error === undefined ? null : sentenceOf(error) };
  const byField: Record<string, string> = {};
  const rest: string[] = [];
  for (const sentence of error.message.split('; ')) {
    const subject = /^[\w.[\]-]+/.exec(sentence)?.[0] ?? '';
    const field = fields
      .filter((name) => subject === name || subject.startsWith(`${name}.`) || subject.startsWith(`${name}[`))
      .toSorted((a, b) => b.length - a.length)[0];
    if (field === undefined) rest.push(sentence);
    else byField[field] = byField[field] === undefined ? capitalize(sentence) : `${byField[field]}; ${sentence}`;
  }
  return { byField, rest: rest.length === 0 ? null : capitalize(rest.join('; ')) };
}

/** Returns the text with its first letter in upper case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
