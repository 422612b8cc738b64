import { VENDORS, type Vendor, type VendorAdapter } from '../../core/checks/vendor/catalogue.ts';
import type { VendorReading } from '../../core/checks/vendor/document.ts';
import { findVendorPage, pageOf, type VendorPage } from '../../core/checks/vendor/page.ts';
import { unknownVendor } from '../../core/monitors/input/vendor.ts';
import { badRequest } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { callerOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

/** A vendor of the catalogue as it is listed. */
function presentVendor(vendor: Vendor): Schemas['Vendor'] {
  return { id: vendor.id, name: vendor.name, page_url: pageOf(vendor).pageUrl };
}

const LISTS: Readonly<Partial<Record<VendorAdapter, Schemas['VendorPage']['lists']>>> = {
  aws: 'troubled',
  azure: 'none',
};

/** What a vendor's page lists, or why that is not known. */
function presentVendorPage(page: VendorPage, reading: VendorReading): Schemas['VendorPage'] {
  const snapshot = reading.outcome === 'read' ? reading.snapshot : null;
  return {
    id: page.vendorId,
    name: page.isInCatalogue ? page.name : (snapshot?.name ?? page.name),
    page_url: page.pageUrl,
    lists: LISTS[page.adapter] ?? 'all',
    components: (snapshot?.components ?? []).map(({ id, name, state }) => ({ id, name, state })),
    failure: reading.outcome === 'failed' ? reading.failure.reason : null,
  };
}

/** The oldest states that a form shows: older ones would be those of another moment. In milliseconds. */
const FRESH_MS = 60_000;

/** `GET /vendors` */
export function listVendorsHandler(): Handler<'listVendors'> {
  const vendors = VENDORS.toSorted((a, b) => a.name.localeCompare(b.name, 'en')).map(presentVendor);
  return (_request, response) => {
    response.json({ vendors });
  };
}

/** `GET /vendors/components` */
export function listVendorComponentsHandler({
  readVendorPage,
  rateLimits,
}: Parts<'readVendorPage' | 'rateLimits'>): Handler<'listVendorComponents'> {
  return async (request, response) => {
    const { target } = request.query;
    const page = findVendorPage(target);
    if (page === null) throw badRequest(unknownVendor(target));
    const { tenantId } = callerOf(response);
    if (!page.isInCatalogue) await rateLimits.take('page', tenantId);
    response.json(presentVendorPage(page, await readVendorPage(page, { tenantId, freshMs: FRESH_MS })));
  };
}
