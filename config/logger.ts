import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from './log-level.ts';

const SECRET_FIELDS = [
  'authorization', 'cookie', 'password', 'token', 'secret', 'signing_secret', 'signingSecret', 'secrets', 'secretHeaders', 'secretKeys',
  'databaseUrl', 'redisUrl', 'agentToken', 'botToken', 'clientSecret', 'bootstrapToken', 'bootstrapPassword', 'url', 'body',
] as const;

/** How deep a secret is looked for: the fields of a log line are flat, request and job objects one or two levels deep. */
const DEPTHS = ['', '*.', '*.*.'] as const;

/**
 * Makes a process's logger: one JSON line per entry, with the process's name, to standard output unless given a destination.
 * Secrets are the caller's duty not to log; the redaction is the net below.
 */
export function createLogger(options: { process: string; level: LogLevel }, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { process: options.process },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: serializeError },
    redact: { paths: DEPTHS.flatMap((depth) => SECRET_FIELDS.map((field) => depth + field)), censor: '[redacted]' },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}

/** Only what locates a fault: drivers hang whole statements with their values on the errors they throw. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : serializeError(error.cause);
  return { type: error.name, message: error.message, code, stack: error.stack, cause };
}
