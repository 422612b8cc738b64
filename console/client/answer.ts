import { signal } from '@preact/signals';

/** An error response of the API; `status` is 0 if the service did not respond. */
export class Failure extends Error {
  readonly status: number;
  /** The request id to quote to the operator; null if no response came. */
  readonly requestId: string | null;
  /** Seconds until the same request may be accepted; null if the response did not say. */
  readonly retryAfter: number | null;
  /** Time before which the same request may be refused again, in Unix milliseconds of this browser. */
  readonly retryAtMs: number;
  /** Whole body, for errors that carry more than a sentence. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    answer: { status: number; requestId?: string | null; retryAfter?: number | null; body?: Record<string, unknown> },
  ) {
    super(message);
    this.status = answer.status;
    this.requestId = answer.requestId ?? null;
    this.retryAfter = answer.retryAfter ?? null;
    this.retryAtMs = Date.now() + (this.retryAfter ?? 0) * 1000;
    this.body = answer.body ?? {};
  }
}

/** Returns the sentence to show for any thrown value. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Failure) return capitalize(error.message);
  return 'Something went wrong on this page. Reload it';
}

/** Error texts of a form's fields, by their names in the API; a function where the API has several reasons. */
export type FieldTexts = Readonly<Record<string, string | ((sentence: string) => string)>>;

/**
 * Splits an error of the API by field, for a form that has its own `texts` for each refused field. Sentences begin with
 * their field, such as `monitor_ids[2]`; one about a part of a field belongs to the field, and those before the first
 * field go to `rest`.
 */
export function problemsByField(
  error: unknown,
  texts: FieldTexts,
): { byField: Readonly<Record<string, string>>; rest: string | null } {
  if (!(error instanceof Failure) || error.status !== 400)
    return { byField: {}, rest: error === null || error === undefined ? null : sentenceOf(error) };
  const sentences = new Map<string | null, string>();
  let field: string | null = null;
  for (const piece of error.message.split('; ')) {
    // A piece that begins with no field of the form continues the previous one.
    field = fieldOf(piece, Object.keys(texts)) ?? field;
    const before = sentences.get(field);
    sentences.set(field, before === undefined ? piece : `${before}; ${piece}`);
  }
  const byField = Object.entries(texts).flatMap(([name, text]) => {
    const sentence = sentences.get(name);
    if (sentence === undefined) return [];
    return [[name, typeof text === 'string' ? text : text(sentence)]];
  });
  const rest = sentences.get(null);
  return { byField: Object.fromEntries(byField), rest: rest === undefined ? null : capitalize(rest) };
}

/** Returns the field that a sentence of the API begins with; null if it is none of these. */
function fieldOf(sentence: string, fields: readonly string[]): string | null {
  const subject = /^[\w.[\]-]+/.exec(sentence)?.[0] ?? '';
  const isOf = (name: string) => subject === name || subject.startsWith(`${name}.`) || subject.startsWith(`${name}[`);
  return fields.find(isOf) ?? null;
}

/** Returns the text with its first letter in upper case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A page of a list: the response, and the cursor of the next page or null on the last one. */
export type Page<T> = { answer: T; next: string | null };

/** The largest page that the API returns. */
const MAX_AT_ONCE = 1000;

/** Returns the cursor of the next page from a `Link` header; null if it names none. */
export function nextCursor(link: string | null): string | null {
  const url = /<([^>]*)>\s*;\s*rel="?next"?/i.exec(link ?? '')?.[1];
  return url === undefined ? null : (URL.parse(url, 'http://unused')?.searchParams.get('cursor') ?? null);
}

/** Loads all rows of a list, page by page. */
export async function listAll<Answer, Row>(
  ask: (query: { limit: number; cursor?: string }) => Promise<Page<Answer>>,
  rowsOf: (answer: Answer) => readonly Row[],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | undefined; ;) {
    const { answer, next } = await ask({ limit: MAX_AT_ONCE, ...(cursor !== undefined && { cursor }) });
    rows.push(...rowsOf(answer));
    if (next === null) return rows;
    cursor = next;
  }
}

/** Lead of the service's clock over the browser's, in milliseconds; 0 if they agree within five seconds. */
const aheadMs = signal(0);
const AGREEMENT_MS = 5000;

/** Returns the present by the service's clock, in Unix seconds: a browser's may be wrong by hours. */
export function serviceSeconds(): number {
  return Math.floor(serviceMs() / 1000);
}

/** Returns the present by the service's clock, in Unix milliseconds. */
export function serviceMs(): number {
  return Date.now() + aheadMs.value;
}

/** Measures the difference of the clocks by a response; `sentAtMs` is the browser's time of the request. */
export function compareClocks({ headers }: Response, sentAtMs: number): void {
  const takenMs = Date.now() - sentAtMs;
  // A Date header has whole seconds.
  const differenceMs = Date.parse(headers.get('date') ?? '') + 500 - (sentAtMs + takenMs / 2);
  if (takenMs > AGREEMENT_MS || Number.isNaN(differenceMs)) return;
  if (Math.abs(differenceMs) <= AGREEMENT_MS) aheadMs.value = 0;
  else if (Math.abs(differenceMs - aheadMs.peek()) > AGREEMENT_MS) aheadMs.value = differenceMs;
}
