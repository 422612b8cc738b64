import { sqlStateOf } from '../sql.ts';

/**
 * Codes of the system and of PostgreSQL that say "not now". Those of PostgreSQL: 57P = it is being stopped or started;
 * 58030 = its disk fails; 25006 = it is a standby, which takes no writes.
 */
const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  '57P01',
  '57P02',
  '57P03',
  '58030',
  '25006',
]);

/**
 * Classes of SQLSTATE that say so as a whole: connection exception; insufficient resources, such as a full disk, no
 * memory, too many connections.
 */
const AWAY_CLASSES = new Set(['08', '53']);
const SQL_STATE = /^[0-9A-Z]{5}$/;

/** What pg says without a code when a connection is lost or none can be had. */
const AWAY_MESSAGES = new RegExp(
  [
    '^Connection terminated',
    '^timeout exceeded when trying to connect',
    '^Client has encountered a connection error',
    '^Query read timeout',
  ].join('|'),
);

/**
 * True for an error that means PostgreSQL cannot be reached or cannot store at the moment, and not that a statement is
 * wrong.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = sqlStateOf(error);
  if (code !== null && (AWAY_CODES.has(code) || (SQL_STATE.test(code) && AWAY_CLASSES.has(code.slice(0, 2)))))
    return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return AWAY_MESSAGES.test(error.message);
}
