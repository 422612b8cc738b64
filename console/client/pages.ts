/** A page of a list: the response, and the cursor of the next page or null on the last one. */
export type Page<T> = { answer: T; next: string | null };

/** The largest page that the API returns. */
const MOST_AT_ONCE = 1000;

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
    const { answer, next } = await ask({ limit: MOST_AT_ONCE, ...(cursor !== undefined && { cursor }) });
    rows.push(...rowsOf(answer));
    if (next === null) return rows;
    cursor = next;
  }
}
