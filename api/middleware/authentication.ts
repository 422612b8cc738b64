import type { RequestHandler } from 'express';
import { findTokenHolder } from '../../models/api-tokens.ts';
import { ApiError } from '../api-error.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { contextOf } from '../request-context.ts';

const BEARER = /^Bearer +(?<token>\S+) *$/i;
const TOKEN = /^spk_[A-Za-z0-9_-]{1,200}$/;

/** Finds out who calls; without a usable token the request stays anonymous, for `requireCaller` to refuse once it has been counted. */
export function authentication({ database, now }: Pick<ApiDependencies, 'database' | 'now'>): RequestHandler {
  return async (request, response, next) => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.groups?.['token'] ?? '';
    const caller = TOKEN.test(token) ? await findTokenHolder(database, token, now()) : null;
    if (caller !== null) contextOf(response).caller = caller;
    next();
  };
}

/** Refuses anonymous requests: 401, and how to do better (RFC 6750). Unknown, expired and revoked tokens are told apart to nobody. */
export const requireCaller: RequestHandler = (request, response, next) => {
  if (contextOf(response).caller !== undefined) {
    next();
    return;
  }
  if (request.headers.authorization === undefined) {
    throw new ApiError(401, 'the Authorization header must be "Bearer spk_...", got none', { 'WWW-Authenticate': 'Bearer realm="spotcheck"' });
  }
  throw new ApiError(401, 'the token in the Authorization header is not valid: it is unknown, expired or revoked', {
    'WWW-Authenticate': 'Bearer realm="spotcheck", error="invalid_token"',
  });
};
