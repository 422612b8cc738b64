import type { RequestHandler } from 'express';
import { unknownVendor } from '../../core/monitor-input/vendor.ts';
import { VENDORS } from '../../core/vendor/catalogue.ts';
import { findVendorPage } from '../../core/vendor/page.ts';
import { badRequest } from '../api-error.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { presentVendor, presentVendorPage } from '../presenters/vendor.ts';
import { callerOf } from '../request-context.ts';
import type { operations } from '../schema.generated.ts';

/** The oldest states that a form shows: older ones would be those of another moment. In milliseconds. */
const FRESH_MS = 60_000;

/** `GET /vendors` */
export function listVendorsHandler(): RequestHandler {
  const vendors = VENDORS.toSorted((a, b) => a.name.localeCompare(b.name, 'en')).map(presentVendor);
  return (_request, response) => {
    response.json({ vendors });
  };
}

/** `GET /vendors/components` */
export function listVendorComponentsHandler({ readVendorPage, rateLimits }: HandlerDependencies): RequestHandler {
  return async (request, response) => {
    const { target } = request.query as operations['listVendorComponents']['parameters']['query'];
    const page = findVendorPage(target);
    if (page === null) throw badRequest(unknownVendor(target));
    const { tenantId } = callerOf(response);
    if (!page.isInCatalogue) await rateLimits.take('page', tenantId);
    response.json(presentVendorPage(page, await readVendorPage(page, { tenantId, freshMs: FRESH_MS })));
  };
}
