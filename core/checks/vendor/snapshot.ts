/** States of a part of a vendor, from good to bad. */
const VENDOR_STATES = ['operational', 'maintenance', 'degraded', 'partial', 'major'] as const;
export type VendorState = (typeof VENDOR_STATES)[number];

/** A part of a vendor as listed on its page. `id` is the page's own; for AWS `service:region`. */
export type VendorComponent = { id: string; name: string; state: VendorState };

/** A current announcement of the vendor. `componentIds` is empty if the page does not name the affected components. */
type VendorEvent = { title: string; componentIds: readonly string[] };

/** Contents of a page at one moment, in any format. */
export type VendorSnapshot = {
  /** The page's name of its owner; null without one. */
  name: string | null;
  /** State of the vendor as a whole; null if this part of the page does not contain it. */
  overall: VendorState | null;
  components: readonly VendorComponent[];
  /** False if only components in trouble are listed, so that any other is operational. */
  listsAll: boolean;
  /** Incidents and maintenance under way, in the page's order. */
  events: readonly VendorEvent[];
};

/** Returns the worst of some states; `operational` if there are none. */
export function worstState(states: readonly VendorState[]): VendorState {
  return VENDOR_STATES.findLast((state) => states.includes(state)) ?? 'operational';
}

/**
 * Derives the state of a whole vendor from its parts. An outage of some parts is a partial one of the whole, and a
 * major one only if it affects every part.
 */
export function overallOf(parts: readonly VendorState[]): VendorState {
  const worst = worstState(parts);
  return worst === 'major' && parts.some((state) => state !== 'major') ? 'partial' : worst;
}

/** Merges a page's snapshots from several documents; for a component in two of them the worse state counts. */
export function mergeSnapshots(parts: readonly VendorSnapshot[]): VendorSnapshot {
  const components = new Map<string, VendorComponent>();
  for (const component of parts.flatMap((part) => part.components)) {
    const known = components.get(component.id);
    components.set(
      component.id,
      known === undefined ? component : { ...known, state: worstState([known.state, component.state]) },
    );
  }
  const overall = parts.flatMap((part) => part.overall ?? []);
  return {
    name: parts.find((part) => part.name !== null)?.name ?? null,
    overall: overall.length === 0 ? null : worstState(overall),
    components: [...components.values()],
    listsAll: parts.some((part) => part.listsAll),
    events: parts.flatMap((part) => part.events),
  };
}
