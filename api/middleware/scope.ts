import type { RequestHandler } from 'express';
import { ApiError } from '../api-error.ts';
import { callerOf } from '../request-context.ts';

const READING_METHODS = new Set(['GET', 'OPTIONS']);

/** Whatever can change something needs the scope `write` (D-02). */
export const requireScope: RequestHandler = (request, response, next) => {
  const scope = READING_METHODS.has(request.method) ? 'read' : 'write';
  if (!callerOf(response).scopes.includes(scope)) {
    throw new ApiError(403, `this token lacks the scope ${scope}`, { 'WWW-Authenticate': `Bearer realm="spotcheck", error="insufficient_scope", scope="${scope}"` });
  }
  next();
};
