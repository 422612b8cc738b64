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

/** `/api/v2/summary.json` of an Atlassian Statuspage, and of an incident.io page, which speaks the same. */
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

/** Statuspage says `major` of a "Partial System Outage" too: its words tell the two apart. */
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
/** Some pages answer with the bare list, others with an object around it. */
const components = z.union([z.object({ components: list }).transform((value) => value.components), list]);

/** `/v2/components.json` of an Instatus page, parents and their children alike. */
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

/** A page is `UP`, or in newer words as bad as all, or some, of its parts. */
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
  // Both are left out when there are none.
  activeIncidents: maybeList(z.object({ name: z.string(), impact: instatusState.optional() })),
  activeMaintenances: maybeList(z.object({ name: z.string(), status: z.string() })),
});

/** `/summary.json` of an Instatus page: the whole and what is going on; its components are a document of their own. */
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
 * `HASISSUES` says that something is wrong, and not how much. It is as bad as its incidents, short of a major outage,
 * for an outage of some parts is none of all.
 */
function overallOfPage(page: VendorState, impacts: readonly VendorState[]): VendorState {
  if (page !== 'degraded') return page;
  return worstState([page, ...impacts.map((impact) => (impact === 'major' ? 'partial' : impact))]);
}
