/** How a part of a vendor is, from good to bad. */
const VENDOR_STATES = ['operational', 'maintenance', 'degraded', 'partial', 'major'] as const;
export type VendorState = (typeof VENDOR_STATES)[number];

/** A part of a vendor as its page lists it. `id` is the page's own; for AWS `service:region`. */
export type VendorComponent = { id: string; name: string; state: VendorState };

/**
 * Something that the vendor is telling its customers right now. `componentIds` is empty where the page does not say
 * what is concerned.
 */
export type VendorEvent = { title: string; componentIds: readonly string[] };

/** What a page says at one moment, whatever its form. */
export type VendorSnapshot = {
  /** What the page calls its owner; null where it does not. */
  name: string | null;
  /** The vendor as a whole; null where this part of the page does not say. */
  overall: VendorState | null;
  components: readonly VendorComponent[];
  /** False where only components in trouble are listed, so that any other is operational. */
  listsAll: boolean;
  /** Incidents and maintenance under way, in the page's order. */
  events: readonly VendorEvent[];
};

/** The worst of some states; `operational` where there are none. */
export function worstState(states: readonly VendorState[]): VendorState {
  return VENDOR_STATES.findLast((state) => states.includes(state)) ?? 'operational';
}

/**
 * The state of a whole vendor of which only the parts are known. An outage of some parts is a partial one of the whole,
 * and a major one only when it hits every part.
 */
export function overallOf(parts: readonly VendorState[]): VendorState {
  const worst = worstState(parts);
  return worst === 'major' && parts.some((state) => state !== 'major') ? 'partial' : worst;
}

/**
 * One snapshot of a page that comes in several documents; of a component that two of them know, the worse state counts.
 */
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
