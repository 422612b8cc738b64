import { parseTarget } from '../../monitors/targets.ts';
import { type Vendor, type VendorAdapter, VENDORS } from './catalog.ts';

/** Location of a vendor's status page (D-28), which the server derives from a monitor's `target`. */
export type VendorPage = {
  /** Id in the catalog, or the host of a page that is not in the catalog. */
  vendorId: string;
  name: string;
  adapter: VendorAdapter;
  /** The page for people. */
  pageUrl: string;
  /** The data behind the page. */
  probeUrl: string;
  /** False for a page that a customer found: it is not yet known to be a Statuspage. */
  isInCatalog: boolean;
};

/**
 * Finds the page of a target. That is a vendor's id in any case, or the URL of any page on its host; null if it is
 * neither an id of the catalog nor a URL.
 */
export function findVendorPage(target: string): VendorPage | null {
  const vendor = VENDORS.find(({ id }) => id === target.toLowerCase());
  if (vendor !== undefined) return pageOf(vendor);
  if (!target.includes('://') || !parseTarget('vendor', target).ok) return null;
  const url = new URL(target);
  const owner = VENDORS.find(({ hosts }) => hosts.includes(url.host));
  return owner === undefined ? unknownPage(url) : pageOf(owner);
}

/** Paths below a Statuspage's address: people copy the address of the page that they have open. */
const BELOW_A_STATUSPAGE = /\/(?:api\/v2|history|incidents|uptime)(?:[/.].*)?$/;

const PROBE_PATHS = {
  statuspage: '/api/v2/summary.json',
  incidentio: '/api/v2/summary.json',
  instatus: '/summary.json',
  aws: '/public/currentevents',
  'google-cloud': '/incidents.json',
  azure: '/en-us/status/feed/',
} as const satisfies Record<VendorAdapter, string>;

const PAGE_PATHS: Readonly<Partial<Record<VendorAdapter, string>>> = { aws: '/health/status', azure: '/en-us/status' };

/** Returns the page of a vendor in the catalog. */
export function pageOf({ id, name, adapter, hosts: [host] }: Vendor): VendorPage {
  return {
    vendorId: id,
    name,
    adapter,
    pageUrl: `https://${host}${PAGE_PATHS[adapter] ?? ''}`,
    probeUrl: `https://${host}${PROBE_PATHS[adapter]}`,
    isInCatalog: true,
  };
}

function unknownPage(url: URL): VendorPage {
  const base = url.origin + url.pathname.replace(BELOW_A_STATUSPAGE, '').replace(/\/+$/, '');
  return {
    vendorId: url.host,
    name: url.host,
    adapter: 'statuspage',
    pageUrl: base,
    probeUrl: base + PROBE_PATHS.statuspage,
    isInCatalog: false,
  };
}
