import { z } from 'zod';
import { worstState, type VendorSnapshot, type VendorState } from '../../../core/checks/vendor/snapshot.ts';
import { accepted, type Parsed } from '../../../core/foreign-text.ts';
import { parseJson, stateWord } from '../parse-json.ts';
import { plainName, plainTitle } from '../plain-text.ts';

/** Instatus' words for the state of a component and for the impact of an incident. */
const componentState = stateWord({
  OPERATIONAL: 'operational',
  UNDERMAINTENANCE: 'maintenance',
  DEGRADEDPERFORMANCE: 'degraded',
  MINOROUTAGE: 'partial',
  PARTIALOUTAGE: 'partial',
  MAJOROUTAGE: 'major',
});

const component = z.object({ id: z.string(), name: z.string(), status: componentState });
const withChildren = component.extend({ children: z.array(component).nullish() });
const list = z.array(withChildren);
/** Some pages answer with the bare list, others with an object around it. */
const components = z.union([z.object({ components: list }).transform((value) => value.components), list]);

/** `/v2/components.json` of an Instatus page, parents and their children alike. */
export function parseInstatusComponents(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseJson(body, components);
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

const UNDER_WAY = new Set(['INPROGRESS', 'VERIFYING']);

const summary = z.object({
  page: z.object({ name: z.string(), status: pageState }),
  // Both are left out when there are none.
  activeIncidents: z
    .array(z.object({ name: z.string(), impact: componentState.optional() }))
    .optional()
    .default([]),
  activeMaintenances: z
    .array(z.object({ name: z.string(), status: z.string() }))
    .optional()
    .default([]),
});

/** `/summary.json` of an Instatus page: the whole and what is going on; its components are a document of their own. */
export function parseInstatusSummary(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseJson(body, summary);
  if (!read.ok) return read;
  const { page, activeIncidents, activeMaintenances } = read.value;
  const maintenances = activeMaintenances.filter(({ status }) => UNDER_WAY.has(status));
  return accepted({
    name: plainName(page.name),
    overall: overallState(
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
function overallState(page: VendorState, impacts: readonly VendorState[]): VendorState {
  if (page !== 'degraded') return page;
  return worstState([page, ...impacts.map((impact) => (impact === 'major' ? 'partial' : impact))]);
}
