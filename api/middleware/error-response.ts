import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { SecondFactorLocked } from '../../models/accounts/second-factor.ts';
import { NoOwner } from '../../models/accounts/users.ts';
import { PasswordsBusy } from '../../models/secrets/password.ts';
import { isDatabaseAway, sqlStateOf } from '../../models/sql.ts';
import { ApiError, methodNotAllowed } from '../api-error.ts';
import type { Parts } from '../handler.ts';
import { contextOf } from '../request-context.ts';
import { MAX_BODY_BYTES, unknownCoding } from './json-body.ts';
import { writtenPath } from './request-form.ts';

/** SQLSTATE of a statement that PostgreSQL cancelled because it took too long (D-597). */
const STATEMENT_ENDED = '57014';

/** Throws 404 for an unknown path, with a hint if it ends with a slash. */
export const unknownRoute: RequestHandler = (request) => {
  const hint = writtenPath(request).endsWith('/') ? ': paths have no slash at their end' : '';
  throw new ApiError(404, `there is no endpoint at this path${hint}`);
};

/** Throws 405 for a known path that only supports reading. */
export const onlyGet: RequestHandler = (request) => {
  throw methodNotAllowed(request.method, 'GET, HEAD');
};

/**
 * Turns errors into responses, in this one place (D-03). Server errors are logged in full and shown without details.
 */
export function errorResponse({ logger }: Parts<'logger'>): ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (error: unknown, _request, response, next) => {
    const answer = answerTo(error);
    if (answer.status >= 500) logger.error({ err: error, request_id: contextOf(response).requestId }, 'request.failed');
    if (response.headersSent) {
      next(error);
      return;
    }
    send(response, answer);
  };
}

function send(response: Response, { status, message, headers, fields }: ApiError): void {
  const { requestId } = contextOf(response);
  response
    .status(status)
    .set(headers)
    .json({ error: message, ...(requestId !== undefined && { request_id: requestId }), ...fields });
}

/** Returns the response to an error. */
export function answerTo(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isDatabaseAway(error) || sqlStateOf(error) === STATEMENT_ENDED)
    return new ApiError(503, 'the database is unavailable: try again in a few seconds', { 'Retry-After': '5' });
  if (error instanceof PasswordsBusy)
    return new ApiError(503, 'too many passwords are being verified: try again in a second', { 'Retry-After': '1' });
  if (error instanceof SecondFactorLocked)
    return error.isConfirmed
      ? new ApiError(503, 'codes of your app cannot be verified now: use a recovery code, or ask the operator')
      : new ApiError(503, 'codes of this secret cannot be verified: start again with POST /v1/user/totp');
  if (error instanceof NoOwner)
    return new ApiError(403, 'this requires the role owner, which you no longer have: reload the page');
  if (error instanceof URIError) return new ApiError(400, 'the path must be percent-encoded UTF-8');
  return answerToBody(error) ?? new ApiError(500, 'internal error');
}

/** Returns the response to an error of the body parser, by the type that the parser sets on it. */
function answerToBody(error: unknown): ApiError | null {
  const type = error instanceof Error && 'type' in error ? error.type : null;
  switch (type) {
    case 'entity.too.large':
      return new ApiError(413, `the body must be at most ${limitOf(error)} bytes`);
    case 'parameters.too.many':
      return new ApiError(413, 'the body must have fewer parameters');
    case 'entity.parse.failed':
      return new ApiError(400, 'the body must be valid JSON');
    case 'entity.verify.failed':
      return new ApiError(400, 'the body must be JSON in UTF-8, got invalid UTF-8');
    case 'encoding.unsupported':
      return unknownCoding();
    case 'charset.unsupported':
      return new ApiError(415, 'the charset of Content-Type must be utf-8');
    case 'request.aborted':
    // The client disconnected before a handler began to read the body.
    case 'stream.not.readable':
    case 'request.size.invalid':
      return new ApiError(400, 'the length of the body must match Content-Length');
    default:
      return isRefusedBody(error) ? new ApiError(400, 'the body must match its Content-Encoding') : null;
  }
}

/** Returns the limit that the parser applied. */
function limitOf(error: unknown): number {
  return error instanceof Error && 'limit' in error && typeof error.limit === 'number' ? error.limit : MAX_BODY_BYTES;
}

/** Reports whether zlib failed: such errors have the parser's status, but not its type. */
function isRefusedBody(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 400;
}
