import { parseTarget } from '../../monitors/targets.ts';
import { type Vendor, type VendorAdapter, VENDORS } from './catalog.ts';

/** Where the state of a vendor is read (D-28): what the server fills in from a monitor's `target`. */
export type VendorPage = {
  /** The catalog's id, or the host of a page that is not in the catalog. */
  vendorId: string;
  name: string;
  adapter: VendorAdapter;
  /** The page for people. */
  pageUrl: string;
  /** The data behind the page. */
  probeUrl: string;
  /** False for a page that a customer found: that it is a Statuspage is yet to be seen. */
  isInCatalog: boolean;
};

/**
 * The page that a target stands for. A vendor's id in any case, or the URL of any page on its host; null where it is
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

/** What lies below a Statuspage's address: people copy the address of whatever they look at. */
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

/** Where the state of a vendor of the catalog is read. */
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
