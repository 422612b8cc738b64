import type { RequestHandler } from 'express';
import { createAddressFinder } from '../client-address.ts';
import type { ApiConfig } from '../dependencies.ts';
import { contextOf } from '../request-context.ts';

/**
 * Records where a request comes from while its connection is sure to be there; all who count, store or log the address
 * take it from there.
 */
export function clientAddress({ trustedProxies }: Pick<ApiConfig, 'trustedProxies'>): RequestHandler {
  const findAddress = createAddressFinder(trustedProxies);
  return (request, response, next) => {
    contextOf(response).address = findAddress(request);
    next();
  };
}
