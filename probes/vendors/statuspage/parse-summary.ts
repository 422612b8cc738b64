import { z } from 'zod';
import type { VendorSnapshot, VendorState } from '../../../core/checks/vendor/snapshot.ts';
import { accepted, type Parsed } from '../../../core/foreign-text.ts';
import { parseJson, stateWord } from '../parse-json.ts';
import { plainName, plainTitle } from '../plain-text.ts';

const componentState = stateWord({
  operational: 'operational',
  under_maintenance: 'maintenance',
  degraded_performance: 'degraded',
  partial_outage: 'partial',
  major_outage: 'major',
  // incident.io's own word for it.
  full_outage: 'major',
});

const indicator = stateWord({
  none: 'operational',
  maintenance: 'maintenance',
  minor: 'degraded',
  major: 'major',
  critical: 'major',
});

const OVER = new Set(['resolved', 'completed', 'postmortem']);
/** Maintenance that is only announced changes nothing yet. */
const UNDER_WAY = new Set(['in_progress', 'verifying']);

const reference = z.object({ id: z.string() });
/** incident.io writes null where Statuspage writes an empty list. */
const listOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((list) => list ?? []);
const event = z.object({ name: z.string(), status: z.string(), components: listOf(reference) });

const summary = z.object({
  page: z.object({ name: z.string() }).optional(),
  status: z.object({ indicator, description: z.string().optional() }),
  components: listOf(z.object({ id: z.string(), name: z.string(), status: componentState })),
  incidents: listOf(event),
  scheduled_maintenances: listOf(event),
});

/** `/api/v2/summary.json` of an Atlassian Statuspage, and of an incident.io page, which speaks the same. */
export function parseStatuspageSummary(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseJson(body, summary);
  if (!read.ok) return read;
  const { page, status, components, incidents, scheduled_maintenances: maintenances } = read.value;
  const events = [
    ...incidents.filter((one) => !OVER.has(one.status)),
    ...maintenances.filter((one) => UNDER_WAY.has(one.status)),
  ];
  return accepted({
    name: page === undefined ? null : plainName(page.name),
    overall: overallState(status),
    components: components.map(({ id, name, status: state }) => ({ id, name: plainName(name), state })),
    listsAll: true,
    events: events.map((one) => ({ title: plainTitle(one.name), componentIds: one.components.map(({ id }) => id) })),
  });
}

/** Statuspage says `major` of a "Partial System Outage" too: its words tell the two apart. */
function overallState({ indicator: state, description = '' }: z.output<typeof summary>['status']): VendorState {
  return state === 'major' && /partial/i.test(description) ? 'partial' : state;
}
