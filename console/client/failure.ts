/** What the API answered instead of what was asked for; `status` is 0 where no answer came. */
export class Failure extends Error {
  readonly status: number;
  /** To be quoted to the operator of the service; null where no answer came. */
  readonly requestId: string | null;
  /** Seconds until the same request may be accepted; null where that was not said. */
  readonly retryAfter: number | null;
  /** The whole answer, for those that say more than a sentence. */
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

/** The sentence to show for anything that was thrown. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Failure) return capitalise(error.message);
  return 'Something went wrong in this page: reload it, and tell us if it happens again';
}

/**
 * The API's complaints by the field that each begins with, and the rest in one. Fields are written as the API writes
 * them: `check_spec.ping.count`, `monitor_ids[2]`. A complaint about a part of a field that is asked for belongs to
 * that field.
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
    else byField[field] = byField[field] === undefined ? capitalise(sentence) : `${byField[field]}; ${sentence}`;
  }
  return { byField, rest: rest.length === 0 ? null : capitalise(rest.join('; ')) };
}

/** A text that begins with a capital letter, as sentences do. */
export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
