import type { HeaderDraft } from './monitor-draft.ts';

/**
 * The headers without one of them. Stored secret headers are kept all together or not at all, so that taking one away means that the others have to be
 * filled in anew (`isCostly` says so beforehand).
 */
export function removeHeader(headers: readonly HeaderDraft[], index: number): HeaderDraft[] {
  const isOver = isCostly(headers, index);
  return headers.filter((_, at) => at !== index).map((header) => (isOver && header.kind === 'kept' ? { ...header, kind: 'secret' } : header));
}

/** Whether removing a header takes the values of other stored ones along. */
export function isCostly(headers: readonly HeaderDraft[], index: number): boolean {
  return headers[index]?.isStored === true && headers.some(({ kind }, at) => at !== index && kind === 'kept');
}

/** What only the form can see: rows that would fall together or go without a value. By the field that the service would name. */
export function findHeaderProblems(headers: readonly HeaderDraft[]): Record<string, string> {
  const problems: Record<string, string> = {};
  const seen = new Set<string>();
  for (const [index, { name, value, kind }] of headers.entries()) {
    const lower = name.trim().toLowerCase();
    if (lower === '' && value !== '') problems[headerField(index)] = 'A header needs a name';
    else if (lower !== '' && seen.has(lower)) problems[headerField(index)] = `There is another header ${name.trim()}: one of them has to go`;
    else if (lower !== '' && kind === 'secret' && value === '') problems[headerField(index)] = `${name.trim()} needs its value: a stored one can be kept, but not read`;
    seen.add(lower);
  }
  return problems;
}

/** Where a problem of one row stands. */
export function headerField(index: number): string {
  return `headers[${index}]`;
}
