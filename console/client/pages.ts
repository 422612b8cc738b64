/** A page of a list: what the API answered, and the cursor of the next page; null = this is the last one. */
export type Page<T> = { answer: T; next: string | null };

/** As many as the API gives at once. */
const MOST_AT_ONCE = 1000;

/** The cursor of the page that a `Link` header names as the next one; null where it names none. */
export function nextCursor(link: string | null): string | null {
  const url = /<([^>]*)>\s*;\s*rel="?next"?/i.exec(link ?? '')?.[1];
  return url === undefined ? null : (URL.parse(url, 'http://unused')?.searchParams.get('cursor') ?? null);
}

/** All rows of a list, page by page. */
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
