import type { DeliverResult } from '../deliver.ts';
import { IN_FLIGHT_LIMIT } from './endpoint-limiter.ts';

/** How many deliveries of a job came to which outcome, and those to come back for (null = none is left). */
export type TogetherResult = { outcomes: Record<string, number>; rest: { deliveryIds: string[]; postponeMs: number } | null };

/**
 * Works through the deliveries of one channel, in order, as many at a time as its endpoint takes. Those whose turn has not come, because
 * other jobs hold the endpoint's places or another worker holds them, are left for later. Rejects when the database is away.
 */
export async function deliverTogether(deliveryIds: readonly string[], deliver: (deliveryId: string) => Promise<DeliverResult>): Promise<TogetherResult> {
  const waiting = deliveryIds.values();
  const outcomes: Record<string, number> = {};
  const left: { deliveryId: string; postponeMs: number }[] = [];
  const workThrough = async () => {
    for (const deliveryId of waiting) {
      const result = await deliver(deliveryId);
      if ('postponeMs' in result) left.push({ deliveryId, postponeMs: result.postponeMs });
      else outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT_LIMIT, deliveryIds.length) }, workThrough));
  if (left.length === 0) return { outcomes, rest: null };
  const order = new Map(deliveryIds.map((deliveryId, index) => [deliveryId, index]));
  const inOrder = left.map(({ deliveryId }) => deliveryId).toSorted((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
  return { outcomes, rest: { deliveryIds: inOrder, postponeMs: Math.min(...left.map(({ postponeMs }) => postponeMs)) } };
}
