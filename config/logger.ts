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

/**
 * A line waits this long at most for others to be written with it, in milliseconds: the write costs more than the line.
 */
const GATHER_MS = 25;

/** Bytes of lines that wait while none can be written; those beyond are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Writes lines to standard output, in their order, those of a moment together. What is a warning or worse is written at
 * once, with all that wait before it, and the rest when the process ends, so that only a process that is killed
 * outright can lose the lines of its last moment. Where nothing can be written, as on a full disk, lines wait for the
 * next one that can, and the process goes on.
 */
function gatherLines(): DestinationStream {
  const output = openDestination({ fd: process.stdout.fd, sync: true, maxLength: MAX_WAITING_BYTES });
  // The log itself is what cannot be written.
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
    // Asks pino to say the level of each line in `lastLevel`.
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

/**
 * How deep a secret is looked for: the fields of a log line are flat, request and job objects one or two levels deep.
 */
const DEPTH = 3;

/**
 * Makes a process's logger: one JSON line per entry, with the process's name, to standard output unless given a
 * destination. Secrets are the caller's duty not to log; the redaction is the net below.
 */
export function createLogger(options: { process: string; level: LogLevel }, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { process: options.process },
    timestamp: stdTimeFunctions.isoTime,
    // pino's own redaction looks for 57 paths in each line, which costs a request more than all else that is done for
    // its line.
    formatters: { level: (label: string) => ({ level: label }), bindings: redact, log: redact },
    serializers: { err: serializeError },
  };
  return pino(settings, destination ?? gatherLines());
}

function redact(fields: Record<string, unknown>): Record<string, unknown> {
  return withoutSecrets(fields, DEPTH) as Record<string, unknown>;
}

/**
 * The same fields where none of them is a secret, as it nearly always is, and a copy otherwise. `err` is left to its
 * serializer, which takes over nothing unknown.
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

/** Only what locates a fault: drivers hang whole statements with their values on the errors they throw. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : serializeError(error.cause);
  return { type: error.name, message: error.message, code, stack: error.stack, cause };
}
