import { toIso } from '../core/time.ts';

/**
 * Something that a command will not or cannot do; its message is the one line that the operator sees. Exit status 1.
 */
export class Refusal extends Error {
  override name = 'Refusal';
}
/** Writes what a command made: JSON for scripts under `--json`, a line per field for people. */
export function print(
  result: Record<string, unknown> | readonly Record<string, unknown>[],
  options: { json?: boolean },
): void {
  const text = options.json === true ? JSON.stringify(result) : describe(result);
  write(`${text}\n`);
}

/** Writes to standard output. Where its reader has gone, such as `head`, the process ends without a word. */
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

/** Moments are Unix seconds in JSON, and for people a date and time in UTC. */
function present(name: string, value: unknown): string {
  if (value === null) return '-';
  if (typeof value === 'number' && name.endsWith('_at')) return toIso(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
