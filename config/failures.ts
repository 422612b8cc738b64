/** A problem with one variable: the expected value and, unless it is secret, the received one. */
export type Problem = { name: string; expected: string; received: string | null };

/** All problems of a configuration, as one text with a line per variable; it never contains a secret value. */
export class ConfigurationError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(['Invalid configuration:', ...problems.map(describeProblem)].join('\n'));
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}

/** Drops empty variables: `PORT=` in an .env file means the same as no line at all. */
export function withoutEmpty(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1].trim() !== ''),
  );
}

function describeProblem({ name, expected, received }: Problem): string {
  return `  ${name}: expected ${expected}${received === null ? '' : `, got ${JSON.stringify(received)}`}`;
}

/**
 * Returns the message of an error that ends a program. A host name with several addresses, as localhost often is, fails
 * with an error for each address and no message of its own, which drivers then wrap.
 */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'ENOSPC')
    return `The disk is full: free some space and try again (${error.message})`;
  if (error.message !== '') return error.message;
  if (error instanceof AggregateError) return error.errors.map(describeFailure).join('; ');
  return 'original' in error ? describeFailure(error.original) : error.name;
}

type ListenAddress = { variable: 'PORT' | 'METRICS_PORT' | 'PROBE_LISTEN'; port: number; host: string | null };

/** Throws a helpful error if a server cannot listen on the port that a variable names. */
export function refuseToListen(error: unknown, address: ListenAddress): never {
  const isOfListening = error instanceof Error && 'syscall' in error && error.syscall === 'listen';
  throw isOfListening ? new Error(describePortFailure(error, address), { cause: error }) : error;
}

/** Explains why a server cannot listen on the port that a variable names, and the remedy. */
export function describePortFailure(error: unknown, { variable, port, host }: ListenAddress): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'EADDRINUSE')
    return `Port ${port} is already in use: stop the program that uses it, or set ${variable} to a free port`;
  if (code === 'EACCES') return `This user may not open port ${port}: set ${variable} to a port above 1023`;
  if (code === 'EADDRNOTAVAIL')
    return `${variable === 'PROBE_LISTEN' ? variable : 'HOST'} must be an address of this machine, got ${host}`;
  return `Port ${port} cannot be opened: ${describeFailure(error)}`;
}
