import type { ExecutionContext } from 'ava';
import { eventsAt } from './story.ts';
import type { Received, Receiver } from './webhook-receiver.ts';
import { withClient } from './with-client.ts';

type TransitionRow = {
  monitor_id: string;
  sequence: number;
  from_state: string;
  to_state: string;
  deliveries: string[];
};

/** Returns the number of pending deliveries. */
export async function pendingDeliveries(databaseUrl: string): Promise<number> {
  return await withClient(databaseUrl, async (client) =>
    Number((await client.query(`SELECT count(*) FROM deliveries WHERE outcome = 'pending'`)).rows[0].count),
  );
}

/**
 * Asserts the invariants that no crash may break, and returns the number of transitions. Each monitor's transitions are
 * a gapless chain from pending, each with one delivery. All deliveries arrived, and nothing else did.
 */
export async function isWholeHistory(t: ExecutionContext, databaseUrl: string, receiver: Receiver): Promise<number> {
  const transitions = await withClient(
    databaseUrl,
    async (client) =>
      (
        await client.query<TransitionRow>(
          `SELECT t.monitor_id, t.sequence, t.from_state, t.to_state, array_remove(array_agg(d.id), NULL) AS deliveries
     FROM transitions t LEFT JOIN deliveries d ON d.monitor_id = t.monitor_id
       AND (d.message -> 'detail' ->> 'sequence')::int = t.sequence
     GROUP BY t.monitor_id, t.sequence ORDER BY t.monitor_id, t.sequence`,
        )
      ).rows,
  );
  for (const chain of Map.groupBy(transitions, (transition) => transition.monitor_id).values()) {
    t.deepEqual(
      chain.map(({ sequence }) => sequence),
      chain.map((_, index) => index + 1),
    );
    t.deepEqual(
      chain.map(({ from_state }) => from_state),
      ['pending', ...chain.map(({ to_state }) => to_state)].slice(0, -1),
    );
    t.true(chain.every(({ from_state, to_state }) => from_state !== to_state));
  }
  t.deepEqual(
    transitions.filter(({ deliveries }) => deliveries.length !== 1),
    [],
  );
  const arrived = new Set(eventsAt(receiver).map(({ json }) => json['delivery_id']));
  t.deepEqual([...arrived].toSorted(), transitions.flatMap(({ deliveries }) => deliveries).toSorted());
  return transitions.length;
}

/**
 * Asserts that each event was delivered by one attempt, and arrived no more often than attempts were made. If the
 * test's process stalls, an attempt may end without its response, and another follows.
 */
export async function areDeliveredOnce(
  t: ExecutionContext,
  databaseUrl: string,
  events: readonly Received[],
): Promise<void> {
  const attempts = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string; made: number; delivered: number }>(
      `SELECT delivery_id AS id, count(*)::int AS made, count(*) FILTER (WHERE outcome = 'delivered')::int AS delivered
       FROM delivery_attempts GROUP BY delivery_id`,
    );
    return new Map(rows.map((row) => [row.id, row]));
  });
  for (const [id, { length }] of Map.groupBy(events, ({ json }) => String(json['delivery_id']))) {
    const { made = 0, delivered = 0 } = attempts.get(id) ?? {};
    t.is(delivered, 1, id);
    t.true(length <= made, `${id} arrived ${length} times in ${made} attempts`);
  }
}
