import { toIso } from '../core/time.ts';

/**
 * Error of a command that will not or cannot do its work; the message is the single line for the operator. Exit status
 * 1.
 */
export class Refusal extends Error {
  override name = 'Refusal';
}

/** Error of a command whose options or arguments do not fit; the message is one line. Exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Prints the result of a command: JSON for scripts under `--json`, a line per field for people. */
export function print(
  result: Record<string, unknown> | readonly Record<string, unknown>[],
  options: { json?: boolean },
): void {
  const text = options.json === true ? JSON.stringify(result) : describe(result);
  write(`${text}\n`);
}

/** Writes to standard output. If its reader is gone, such as `head`, the process ends silently. */
export function write(text: string): void {
  if (process.stdout.listenerCount('error') === 0)
    process.stdout.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit(0);
    });
  process.stdout.write(text);
}

function describe(result: Record<string, unknown> | readonly Record<string, unknown>[]): string {
  const rows = Array.isArray(result) ? result : [result];
  return rows
    .map((row: Record<string, unknown>) =>
      Object.entries(row)
        .map(([name, value]) => `${name}: ${present(name, value)}`)
        .join('\n'),
    )
    .join('\n\n');
}

/** Formats a value. Times are Unix seconds in JSON, and for people a date and time in UTC. */
function present(name: string, value: unknown): string {
  if (value === null) return '-';
  if (typeof value === 'number' && name.endsWith('_at')) return toIso(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
