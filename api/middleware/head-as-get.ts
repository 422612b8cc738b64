import type { RequestHandler } from 'express';
import { contextOf } from '../request-context.ts';

/**
 * Has HEAD answered as GET (RFC 9110, section 9.3.2): the description speaks of GET alone, and Node leaves the body of
 * the answer away.
 */
export const headAsGet: RequestHandler = (request, response, next) => {
  if (request.method === 'HEAD') {
    contextOf(response).isHead = true;
    request.method = 'GET';
  }
  next();
};
