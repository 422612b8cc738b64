import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from './log-level.ts';
import { gatherLines } from './log-lines.ts';

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
