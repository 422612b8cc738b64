import { z } from 'zod';
import { overallOf, type VendorSnapshot } from '../../../core/checks/vendor/snapshot.ts';
import { accepted, type Parsed } from '../../../core/foreign-text.ts';
import { parseJson, stateWord } from '../parse-json.ts';
import { plainName, plainTitle } from '../plain-text.ts';

const productList = z.object({ products: z.array(z.object({ id: z.string(), title: z.string() })) });

/** Google Cloud's products by themselves: what there is, whether or not something is wrong with it. */
export function parseGoogleProducts(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseJson(body, productList);
  if (!read.ok) return read;
  return accepted({
    name: null,
    overall: null,
    components: read.value.products.map(({ id, title }) => ({
      id,
      name: plainName(title),
      state: 'operational' as const,
    })),
    listsAll: true,
    events: [],
  });
}

/** What an incident does to its products; pure information does nothing. */
const impact = stateWord({
  AVAILABLE: 'operational',
  AVAILABLE_INFORMATION: 'operational',
  SERVICE_INFORMATION: 'operational',
  SERVICE_DISRUPTION: 'degraded',
  SERVICE_OUTAGE: 'major',
});

const incident = z.object({
  external_desc: z.string(),
  end: z.iso.datetime({ offset: true }).nullish(),
  status_impact: impact,
  affected_products: z.array(z.object({ id: z.string(), title: z.string() })).default([]),
  // An update may tell of recovery before the incident is closed.
  most_recent_update: z.object({ status: z.string().optional() }).nullish(),
});

/**
 * Google Cloud's incidents, past and present: open are those without an end behind them whose newest update does not
 * call the service available.
 */
export function parseGoogleIncidents(body: Buffer, { nowMs }: { nowMs: number }): Parsed<VendorSnapshot> {
  const read = parseJson(body, z.array(incident));
  if (!read.ok) return read;
  const open = read.value.filter(
    ({ end, most_recent_update: update }) =>
      (typeof end !== 'string' || Date.parse(end) > nowMs) && update?.status !== 'AVAILABLE',
  );
  const harmful = open.filter(({ status_impact: state }) => state !== 'operational');
  const components = harmful.flatMap(({ affected_products: products, status_impact: state }) =>
    products.map(({ id, title }) => ({ id, name: plainName(title), state })),
  );
  return accepted({
    name: null,
    // What is well is not listed, so that one part more stands for all of it.
    overall:
      harmful.length === 0
        ? 'operational'
        : overallOf(['operational', ...harmful.map(({ status_impact: state }) => state)]),
    components,
    listsAll: false,
    events: harmful.map(({ external_desc: title, affected_products: products }) => ({
      title: plainTitle(title),
      componentIds: products.map(({ id }) => id),
    })),
  });
}
