import type { RequestHandler } from 'express';
import type { ApiDependencies } from '../dependencies.ts';
import { contextOf } from '../request-context.ts';

/**
 * Gives each request an id, shown in `X-Request-Id` and in errors (D-03). A caller's own id is not taken over: ours
 * must be unique.
 */
export function requestId({ makeId }: Pick<ApiDependencies, 'makeId'>): RequestHandler {
  return (_request, response, next) => {
    const id = makeId('req');
    contextOf(response).requestId = id;
    response.setHeader('X-Request-Id', id);
    next();
  };
}
