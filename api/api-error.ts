import type { Read } from '../core/input.ts';

/** An error response that a handler or middleware throws; the message is shown to the caller (D-03). */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Fields of the body besides the message and the request id. */
  readonly fields: Readonly<Record<string, unknown>> = {};

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.headers = headers;
  }
}

/** 401 for a sign-in whose password is correct but whose second factor is missing. */
export class CodeRequired extends ApiError {
  override readonly fields = { code_required: true };

  constructor() {
    super(401, 'a two-factor code is required');
  }
}

/** 400 with all problems in one message. */
export function badRequest(...sentences: string[]): ApiError {
  return new ApiError(400, sentences.join('; '));
}

/** Returns the value that was read of a body, or throws a 400 with all of its problems. */
export function accept<T>(read: Read<T>): T {
  if (read.ok) return read.value;
  throw badRequest(...read.problems.map(({ message }) => message));
}

/**
 * Returns a name that is shown on one line; throws 400 if it is blank, or has control characters or lone surrogates.
 * The description limits its length.
 */
export function requirePlainName(field: string, name: string): string {
  if (name.trim() === '') throw badRequest(`${field} must not be blank`);
  if (/[\p{Cc}\u2028\u2029]/u.test(name) || !name.isWellFormed())
    throw badRequest(`${field} must not contain control characters`);
  return name;
}

/** 404 for an object that this account does not have, even if another account does (D-02). */
export function notFound(
  kind:
    | 'monitor'
    | 'channel'
    | 'delivery'
    | 'drill'
    | 'agent'
    | 'report'
    | 'incident'
    | 'note'
    | 'session'
    | 'token'
    | 'member'
    | 'invitation'
    | 'maintenance window'
    | 'bulk change'
    | 'identity',
  id: string,
): ApiError {
  return new ApiError(404, `${kind} ${id} does not exist`);
}

/** 409 for a valid request that the object's state does not allow; the message names the remedy. */
export function conflict(message: string): ApiError {
  return new ApiError(409, message);
}

/** 405 with the methods that the path supports. */
export function methodNotAllowed(method: string, allow: string): ApiError {
  return new ApiError(405, `${method} is not allowed here, only ${allow}`, { Allow: allow });
}
