/** Deliveries in flight to one endpoint at a time, in one process (D-54). */
export const IN_FLIGHT_LIMIT = 4;

/** How long an attempt is taken to last before the endpoint has answered one, in milliseconds. */
const FIRST_PACE_MS = 50;

/** Bounds of a postponement, in milliseconds: never a spin, never out of reach of a receiver that is well again. */
const MIN_POSTPONE_MS = 100;
const MAX_POSTPONE_MS = 30_000;

type Endpoint = { inFlight: number; paceMs: number; movedAtMs: number; nextFreeAtMs: number };

/** A place among an endpoint's deliveries in flight, to be left after the attempt; or how long to stay away before asking again. */
export type Admission = { leave: () => void } | { postponeMs: number };

export type EndpointLimiter = { enter: (endpoint: string) => Admission };

/**
 * Keeps one endpoint from holding more than four of the deliveries in flight. Who comes too many is sent away for as long as the ones
 * sent away before will take at the endpoint's pace: a burst comes back spread out, in a slow receiver's own time. The pace is how long
 * the last attempt took, or how long nothing has moved, whichever is longer, so that a receiver that hangs is asked after less and less.
 */
export function createEndpointLimiter(now: () => number): EndpointLimiter {
  const endpoints = new Map<string, Endpoint>();

  const postpone = (endpoint: Endpoint): Admission => {
    const nowMs = now();
    const paceMs = Math.max(endpoint.paceMs, nowMs - endpoint.movedAtMs);
    const turnMs = Math.max(endpoint.nextFreeAtMs, nowMs) + paceMs / IN_FLIGHT_LIMIT;
    endpoint.nextFreeAtMs = Math.min(turnMs, nowMs + MAX_POSTPONE_MS);
    return { postponeMs: Math.max(MIN_POSTPONE_MS, Math.ceil(endpoint.nextFreeAtMs - nowMs)) };
  };

  return {
    enter(key) {
      const endpoint = endpoints.get(key) ?? { inFlight: 0, paceMs: FIRST_PACE_MS, movedAtMs: 0, nextFreeAtMs: 0 };
      if (endpoint.inFlight >= IN_FLIGHT_LIMIT) return postpone(endpoint);
      const enteredAtMs = now();
      endpoint.inFlight += 1;
      endpoint.movedAtMs = enteredAtMs;
      endpoints.set(key, endpoint);
      return {
        leave() {
          const leftAtMs = now();
          endpoint.inFlight -= 1;
          endpoint.movedAtMs = leftAtMs;
          endpoint.paceMs = leftAtMs - enteredAtMs;
          // Nothing in flight and nobody sent away: nothing worth remembering, so memory follows the endpoints in use.
          if (endpoint.inFlight === 0 && endpoint.nextFreeAtMs <= leftAtMs) endpoints.delete(key);
        },
      };
    },
  };
}
