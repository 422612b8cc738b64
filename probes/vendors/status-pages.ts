import { z } from 'zod';
import { worstState, type VendorSnapshot, type VendorState } from '../../core/checks/vendor/snapshot.ts';
import { accepted, type Parsed } from '../../core/foreign-text.ts';
import { listOf, readJson, plainName, plainTitle, stateWord } from './document-text.ts';

const componentState = stateWord({
  operational: 'operational',
  under_maintenance: 'maintenance',
  degraded_performance: 'degraded',
  partial_outage: 'partial',
  major_outage: 'major',
  // incident.io's own word.
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
/** Maintenance that is only announced has no effect yet. */
const UNDER_WAY = new Set(['in_progress', 'verifying']);

const reference = z.object({ id: z.string() });
/** A list, which incident.io writes as null where Statuspage writes an empty list. */
const maybeList = <Item extends z.ZodType>(item: Item) =>
  listOf(item)
    .nullish()
    .transform((list) => list ?? []);
const event = z.object({ name: z.string(), status: z.string(), components: maybeList(reference) });

const summary = z.object({
  page: z.object({ name: z.string() }).optional(),
  status: z.object({ indicator, description: z.string().optional() }),
  components: maybeList(z.object({ id: z.string(), name: z.string(), status: componentState })),
  incidents: maybeList(event),
  scheduled_maintenances: maybeList(event),
});

/** Parses `/api/v2/summary.json` of an Atlassian Statuspage, or of an incident.io page, which has the same form. */
export function parseStatuspageSummary(body: Buffer): Parsed<VendorSnapshot> {
  const read = readJson(body, summary);
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

/**
 * Returns the overall state. Statuspage uses `major` for a "Partial System Outage" too: the description distinguishes
 * the two.
 */
function overallState({ indicator: state, description = '' }: z.output<typeof summary>['status']): VendorState {
  return state === 'major' && /partial/i.test(description) ? 'partial' : state;
}

/** Instatus' words for the state of a component and for the impact of an incident. */
const instatusState = stateWord({
  OPERATIONAL: 'operational',
  UNDERMAINTENANCE: 'maintenance',
  DEGRADEDPERFORMANCE: 'degraded',
  MINOROUTAGE: 'partial',
  PARTIALOUTAGE: 'partial',
  MAJOROUTAGE: 'major',
});

const component = z.object({ id: z.string(), name: z.string(), status: instatusState });
const withChildren = component.extend({ children: listOf(component).nullish() });
const list = listOf(withChildren);
/** Some pages return the bare list, others an object that contains it. */
const components = z.union([z.object({ components: list }).transform((value) => value.components), list]);

/** Parses `/v2/components.json` of an Instatus page, parents and their children alike. */
export function parseInstatusComponents(body: Buffer): Parsed<VendorSnapshot> {
  const read = readJson(body, components);
  if (!read.ok) return read;
  const parts = read.value.flatMap(({ children, ...parent }) => [parent, ...(children ?? [])]);
  return accepted({
    name: null,
    overall: null,
    components: parts.map(({ id, name, status: state }) => ({ id, name: plainName(name), state })),
    listsAll: true,
    events: [],
  });
}

/** State of a page: `UP` or, in newer words, the state of all or some of its parts. */
const pageState = stateWord({
  UP: 'operational',
  UNDERMAINTENANCE: 'maintenance',
  ALLUNDERMAINTENANCE: 'maintenance',
  SOMEUNDERMAINTENANCE: 'maintenance',
  HASISSUES: 'degraded',
  ALLDEGRADEDPERFORMANCE: 'degraded',
  SOMEDEGRADEDPERFORMANCE: 'degraded',
  ALLMINOROUTAGE: 'partial',
  SOMEMINOROUTAGE: 'partial',
  ALLPARTIALOUTAGE: 'partial',
  SOMEPARTIALOUTAGE: 'partial',
  SOMEMAJOROUTAGE: 'partial',
  ALLMAJOROUTAGE: 'major',
});

const MAINTENANCE_UNDER_WAY = new Set(['INPROGRESS', 'VERIFYING']);

const instatusSummary = z.object({
  page: z.object({ name: z.string(), status: pageState }),
  // Both are absent if there are none.
  activeIncidents: maybeList(z.object({ name: z.string(), impact: instatusState.optional() })),
  activeMaintenances: maybeList(z.object({ name: z.string(), status: z.string() })),
});

/**
 * Parses `/summary.json` of an Instatus page: its overall state and current events; its components are in a separate
 * document.
 */
export function parseInstatusSummary(body: Buffer): Parsed<VendorSnapshot> {
  const read = readJson(body, instatusSummary);
  if (!read.ok) return read;
  const { page, activeIncidents, activeMaintenances } = read.value;
  const maintenances = activeMaintenances.filter(({ status }) => MAINTENANCE_UNDER_WAY.has(status));
  return accepted({
    name: plainName(page.name),
    overall: overallOfPage(
      page.status,
      activeIncidents.flatMap(({ impact }) => impact ?? []),
    ),
    components: [],
    listsAll: false,
    events: [...activeIncidents, ...maintenances].map(({ name }) => ({ title: plainTitle(name), componentIds: [] })),
  });
}

/**
 * Returns the overall state. `HASISSUES` means that something is wrong, but not how severe it is. It is as bad as the
 * page's incidents, but not a major outage, because an outage of some parts is not one of all.
 */
function overallOfPage(page: VendorState, impacts: readonly VendorState[]): VendorState {
  if (page !== 'degraded') return page;
  return worstState([page, ...impacts.map((impact) => (impact === 'major' ? 'partial' : impact))]);
}
