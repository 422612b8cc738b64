import type { HeaderDraft } from './monitor-draft.ts';

/** The headers without one of them; one that is stored stays in sight until that is saved. */
export function removeHeader(headers: readonly HeaderDraft[], index: number): HeaderDraft[] {
  return headers.flatMap((header, at) =>
    at !== index ? [header] : header.isStored ? [{ ...header, value: '', kind: 'removed' }] : [],
  );
}

/**
 * What only the form can see: rows that would fall together or go without a value. By the field that the service would
 * name.
 */
export function findHeaderProblems(headers: readonly HeaderDraft[]): Record<string, string> {
  const problems: Record<string, string> = {};
  const known = new Set<string>();
  for (const [index, { name, value, kind }] of headers.entries()) {
    if (kind === 'removed') continue;
    const lower = name.trim().toLowerCase();
    if (lower === '' && value !== '') problems[headerField(index)] = 'A header needs a name';
    else if (lower !== '' && known.has(lower))
      problems[headerField(index)] = `There is another header ${name.trim()}: one of them has to go`;
    else if (lower !== '' && kind === 'secret' && value === '')
      problems[headerField(index)] = `${name.trim()} needs its value: a stored one can be kept, but not read`;
    known.add(lower);
  }
  return problems;
}

/** Where a problem of one row stands. */
export function headerField(index: number): string {
  return `headers[${index}]`;
}
