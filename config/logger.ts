import {
  pino,
  stdTimeFunctions,
  type DestinationStream,
  type Logger,
  destination as openDestination,
  levels,
} from 'pino';
import type { LogLevel } from './formats.ts';

const WARN = levels.values['warn'] ?? 0;

/** How long a line waits at most to be written with others, in milliseconds: a write costs more than a line. */
const GATHER_MS = 25;

/** Maximum bytes of lines that wait while writing fails; further lines are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Writes lines to standard output in order, in batches. A warning or worse is written at once, with all waiting lines,
 * and the rest when the process ends, so only a process killed outright can lose its last lines. While writing fails,
 * as on a full disk, lines wait for the next write that succeeds, and the process continues.
 */
function gatherLines(): DestinationStream {
  const output = openDestination({ fd: process.stdout.fd, sync: true, maxLength: MAX_WAITING_BYTES });
  // An error of the log itself cannot be logged.
  output.on('error', () => undefined);
  let waiting = '';
  let timer: NodeJS.Timeout | null = null;
  const write = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting !== '') output.write(waiting);
    waiting = '';
  };
  process.once('exit', write);
  const gathering = {
    // Makes pino put the level of each line in `lastLevel`.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      waiting += line;
      if (gathering.lastLevel >= WARN) write();
      else timer ??= setTimeout(write, GATHER_MS).unref();
    },
  };
  return gathering;
}

const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'password',
  'token',
  'secret',
  'signing_secret',
  'signingSecret',
  'secrets',
  'secretHeaders',
  'secretKeys',
  'databaseUrl',
  'redisUrl',
  'agentToken',
  'botToken',
  'clientSecret',
  'bootstrapToken',
  'bootstrapPassword',
  'url',
  'body',
]);

/** Depth to which secrets are searched: log fields are flat, request and job objects one or two levels deep. */
const DEPTH = 3;

/**
 * Creates a process's logger: one JSON line per entry, with the process's name, to standard output unless a destination
 * is given. Callers must not log secrets; the redaction is only a safety net.
 */
export function createLogger(options: { process: string; level: LogLevel }, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { process: options.process },
    timestamp: stdTimeFunctions.isoTime,
    // pino's own redaction checks 57 paths for each line, which costs a request more than the rest of its logging.
    formatters: { level: (label: string) => ({ level: label }), bindings: redact, log: redact },
    serializers: { err: serializeError },
  };
  return pino(settings, destination ?? gatherLines());
}

function redact(fields: Record<string, unknown>): Record<string, unknown> {
  return withoutSecrets(fields, DEPTH) as Record<string, unknown>;
}

/**
 * Returns the same fields if none is a secret, the usual case, and a redacted copy otherwise. `err` is left to its
 * serializer, which copies only known fields.
 */
function withoutSecrets(fields: object, depth: number): object {
  let copy: object | null = null;
  for (const [name, value] of Object.entries(fields)) {
    const shown = SECRET_FIELDS.has(name)
      ? '[redacted]'
      : isNested(name, value) && depth > 1
        ? withoutSecrets(value, depth - 1)
        : value;
    if (shown !== value)
      copy = Object.assign(copy ?? (Array.isArray(fields) ? [...fields] : { ...fields }), { [name]: shown });
  }
  return copy ?? fields;
}

function isNested(name: string, value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(name === 'err' && value instanceof Error);
}

/**
 * Keeps only fields that locate a fault: drivers attach whole statements with their values to the errors they throw.
 */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : serializeError(error.cause);
  return { type: error.name, message: error.message, code, stack: error.stack, cause };
}
