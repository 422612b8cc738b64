import type { RequestHandler } from 'express';
import { badRequest } from '../api-error.ts';

const VERSIONS = new Set(['1.0', '1.1']);

/**
 * Refuses what the parser lets through though two readers could take it for different requests: HTTP/0.9, and a request
 * of HTTP/1.1 without a Host header or any with several (RFC 9112, 3.2).
 */
export const requestForm: RequestHandler = (request, _response, next) => {
  const { httpVersion, rawHeaders } = request;
  if (!VERSIONS.has(httpVersion)) throw badRequest(`the request must be HTTP/1.1, got HTTP/${httpVersion}`);
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    throw badRequest(`the request must have one Host header, got ${hosts}`);
  next();
};
