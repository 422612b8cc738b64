import { BaseError } from 'sequelize';
import { sqlStateOf } from './sql.ts';

/** Codes of the system and of PostgreSQL (57: operator intervention, 53300: too many connections) that say: not now. */
const AWAY_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', '57P01', '57P02', '57P03', '53300']);
const CONNECTION_EXCEPTION_CLASS = '08';

/** What pg and Sequelize say without a code when a connection is lost or none can be had. */
const AWAY_NAMES = /^Sequelize(?:Connection|HostNot|HostNotReachable|AccessDenied)/;
const AWAY_MESSAGES = /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/;

/** True for an error that means PostgreSQL cannot be reached at the moment, and not that a statement is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = sqlStateOf(error);
  if (code !== null && (AWAY_CODES.has(code) || code.startsWith(CONNECTION_EXCEPTION_CLASS))) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return (error instanceof BaseError && AWAY_NAMES.test(error.name)) || AWAY_MESSAGES.test(error.message);
}
