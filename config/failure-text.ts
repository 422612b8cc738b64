/**
 * What an error that ends a program says of itself. A host name with several addresses, as localhost often is, fails
 * with an error for each of them and no text of its own, which drivers then wrap.
 */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'ENOSPC')
    return `A disk is full: make room on it and try again (${error.message})`;
  if (error.message !== '') return error.message;
  if (error instanceof AggregateError) return error.errors.map(describeFailure).join('; ');
  return 'original' in error ? describeFailure(error.original) : error.name;
}
