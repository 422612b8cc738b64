/** What every page is given: what stood in its address, and the query. */
export type PageProps = { params: Readonly<Record<string, string>>; query: Readonly<Record<string, string>> };
