import type { Read } from '../core/input.ts';

/** An answer other than success, as a handler or middleware decides it; the text is shown to the caller (D-03). */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What the body says beside the text and the id of the request. */
  readonly fields: Readonly<Record<string, unknown>> = {};

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.headers = headers;
  }
}

/** 401 for a sign-in whose password is right and whose second factor is missing. */
export class CodeRequired extends ApiError {
  override readonly fields = { code_required: true };

  constructor() {
    super(401, 'a two-factor code is required');
  }
}

/** 400 with every problem in one text. */
export function badRequest(...sentences: string[]): ApiError {
  return new ApiError(400, sentences.join('; '));
}

/** What was read of a body, or a 400 with everything that is wrong with it. */
export function accept<T>(read: Read<T>): T {
  if (read.ok) return read.value;
  throw badRequest(...read.problems.map(({ message }) => message));
}

/**
 * A name of something that shows in one line everywhere: 400 for blanks alone, control characters and halves of
 * characters. How long it may be is said by the description.
 */
export function requirePlainName(field: string, name: string): string {
  if (name.trim() === '') throw badRequest(`${field} must not be blank`);
  if (/[\p{Cc}\u2028\u2029]/u.test(name) || !name.isWellFormed())
    throw badRequest(`${field} must not contain control characters`);
  return name;
}

/** 404 for a thing that this account does not have, also where another account has it (D-02). */
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

/** 409 where the request is good and the thing is in no state for it; the text names what would help. */
export function conflict(message: string): ApiError {
  return new ApiError(409, message);
}

/** 405 and the methods that the path does know. */
export function methodNotAllowed(method: string, allow: string): ApiError {
  return new ApiError(405, `${method} is not allowed here, only ${allow}`, { Allow: allow });
}
