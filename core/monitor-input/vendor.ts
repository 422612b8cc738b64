import type { CheckSpec } from '../monitor.ts';
import { accepted, type Parsed } from '../parsed.ts';
import { parseTarget } from '../targets.ts';
import { parseAwsComponent } from '../vendor/aws-components.ts';
import { VENDORS } from '../vendor/catalogue.ts';
import { resolveComponent } from '../vendor/components.ts';
import type { VendorReading } from '../vendor/document.ts';
import { nearMatches } from '../vendor/near-matches.ts';
import { findVendorPage, type VendorPage } from '../vendor/page.ts';
import type { Problem } from './checks.ts';

/** What a write says of a vendor, over what is stored: undefined stands for what was left out. */
export type VendorInput = { target?: string | undefined; components?: readonly string[] | undefined };

/** What a page says, and which page it is: while it was read another write may have named a different one. */
export type PageReading = { page: VendorPage; reading: VendorReading };

/** The vendor as it is stored before the write; a creation has none. */
export type StoredVendor = { target: string; vendor: CheckSpec['vendor'] };

/**
 * The page that must be read before a write can be judged; null where none must: where neither target nor components
 * change, where a vendor of the catalogue is watched as a whole, and where the page lists no components to hold any
 * against.
 */
export function findPageToRead(input: VendorInput, stored: StoredVendor): VendorPage | null {
  const target = input.target ?? stored.target;
  const page = findVendorPage(target);
  const isNew = target !== stored.target;
  if (page === null || (!isNew && input.components === undefined)) return null;
  if (LISTS_NOTHING.has(page.adapter)) return null;
  const hasComponents = (input.components ?? stored.vendor?.components ?? []).length > 0;
  return hasComponents || (isNew && !page.isInCatalogue) ? page : null;
}

/**
 * What the server fills in from a vendor monitor's target (D-28). Components are held against what its page says, where
 * `read` is of that page (null = nothing was read); a page outside the catalogue must have proved to be one. Adds what
 * is wrong to `problems`.
 */
export function completeVendor(
  input: VendorInput,
  { stored, read }: { stored: StoredVendor; read: PageReading | null },
  problems: Problem[],
): NonNullable<CheckSpec['vendor']> {
  const target = input.target ?? stored.target;
  const components = input.components ?? stored.vendor?.components ?? [];
  // What is stored was judged when it was written: another change of the monitor must not fail for it.
  if (stored.vendor !== undefined && target === stored.target && input.components === undefined) return stored.vendor;
  if (target === '' || !parseTarget('vendor', target).ok) return { components: [...components] };
  const page = findVendorPage(target);
  if (page === null) {
    problems.push({ field: 'target', message: unknownVendor(target) });
    return { components: [...components] };
  }
  const reading = read?.page.pageUrl === page.pageUrl ? read.reading : null;
  if (!page.isInCatalogue && target !== stored.target) checkPage(reading, problems);
  const { vendorId, pageUrl, probeUrl } = page;
  return { vendorId, pageUrl, probeUrl, components: completeComponents(components, { page, reading }, problems) };
}

/** AWS reports trouble only, Azure of no components at all. */
const LISTS_NOTHING: ReadonlySet<VendorPage['adapter']> = new Set(['aws', 'azure'] as const);

/** What is wrong with a target that `findVendorPage` finds nothing for, with the ids that may have been meant. */
export function unknownVendor(target: string): string {
  const near = nearMatches(
    target,
    VENDORS.map(({ id }) => id),
  );
  const remedy = near.length === 0 ? '' : `; did you mean ${near.join(', ')}?`;
  return (
    'target must be the id of a vendor in the catalogue, such as github, or the URL of a status page, got ' +
    `${JSON.stringify(target)}${remedy}`
  );
}

function checkPage(reading: VendorReading | null, problems: Problem[]): void {
  if (reading?.outcome === 'read') return;
  if (reading?.failure.kind === 'not_a_status_page') {
    problems.push({
      field: 'target',
      message:
        'target must be the URL of a status page in the form of Atlassian Statuspage, or the id of a vendor in the ' +
        `catalogue. ${reading.failure.reason}`,
    });
    return;
  }
  const cause = reading === null ? 'The status page was not read' : reading.failure.reason;
  problems.push({
    field: 'target',
    message: `target must be a status page that can be read when it is set. ${cause}: try again later`,
  });
}

type Given = { page: VendorPage; reading: VendorReading | null };

/**
 * After this many unknown components no more are compared: each is compared with all that the page has to find what was
 * meant.
 */
const MOST_UNKNOWN = 5;

function completeComponents(components: readonly string[], { page, reading }: Given, problems: Problem[]): string[] {
  const complain = (message: string) => void problems.push({ field: 'components', message });
  if (page.adapter === 'azure' && components.length > 0)
    complain('components must be left out for Azure: its status feed names none');
  if (page.adapter === 'aws' && components.length === 0)
    complain('components must be at least one service:region, such as ec2:us-east-1, for AWS, got none');
  const resolved = new Set<string>();
  let unknown = 0;
  for (const component of components) {
    const parsed = parseComponent(component, { page, reading });
    if (parsed.ok) {
      resolved.add(parsed.value);
      continue;
    }
    complain(`components must be parts of ${page.name}: ${parsed.message}`);
    unknown += 1;
    if (unknown === MOST_UNKNOWN) break;
  }
  return [...resolved];
}

/** What cannot be held against the page now is taken as it is: the checks will tell when the page does not list it. */
function parseComponent(component: string, { page, reading }: Given): Parsed<string> {
  if (page.adapter === 'aws') return parseAwsComponent(component);
  return reading?.outcome === 'read' ? resolveComponent(reading.snapshot, component) : accepted(component);
}
