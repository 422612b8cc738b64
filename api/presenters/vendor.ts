import type { Vendor, VendorAdapter } from '../../core/vendor/catalogue.ts';
import type { VendorReading } from '../../core/vendor/document.ts';
import { pageOf, type VendorPage } from '../../core/vendor/page.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

/** A vendor of the catalogue as it is listed. */
export function presentVendor(vendor: Vendor): Schemas['Vendor'] {
  return { id: vendor.id, name: vendor.name, page_url: pageOf(vendor).pageUrl };
}

const LISTS: Readonly<Partial<Record<VendorAdapter, Schemas['VendorPage']['lists']>>> = {
  aws: 'troubled',
  azure: 'none',
};

/** What a vendor's page lists, or why that is not known. */
export function presentVendorPage(page: VendorPage, reading: VendorReading): Schemas['VendorPage'] {
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
