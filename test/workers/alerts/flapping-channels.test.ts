import test from 'ava';
import type { MonitorMessage } from '../../../core/alerts/envelope.ts';
import { claimDeliveries, recordAttempts } from '../../../models/alerts/delivery-attempts.ts';
import { deletePastRates } from '../../../models/alerts/delivery-rates.ts';
import { inTransaction } from '../../../models/sql.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { retainHistory } from '../../../workers/system/retention.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';

const CHANNELS = 120;

/**
 * Start of a step at which waiting deliveries are due, so that the number of waiting ones follows from the rates alone.
 */
const START_MS = Math.floor(Date.now() / 5000) * 5000 - 60_000;

type Row = {
  id: string;
  channel_id: string;
  next_attempt_at: number;
  outcome: string;
  message: MonitorMessage;
  changes: number | null;
};

async function addWebhooks({ database, tenantId }: TestRuntime): Promise<void> {
  await database.pool.query(
    `INSERT INTO channels (id, tenant_id, type, name, status, all_monitors, created_at)
     SELECT 'nch_' || n, $1, 'webhook', 'x', 'connected', true, 0 FROM generate_series(1, $2::int) n`,
    [tenantId, CHANNELS],
  );
}

async function deliveries({ database }: TestRuntime): Promise<Row[]> {
  return (
    await database.pool.query<Row>(
      'SELECT d.*, m.changes FROM deliveries d LEFT JOIN merged_deliveries m ON m.delivery_id = d.id ORDER BY d.no',
    )
  ).rows;
}

/** Changes one monitor `times` times, one second apart, and returns the end and the deliveries to enqueue. */
async function flap(runtime: TestRuntime, startMs: number, times: number) {
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], {
    intervalSeconds: 1,
    timeoutMs: 500,
    downAfterFailures: 1,
    downMinSources: 1,
  });
  const queued: string[] = [];
  for (let turn = 0; turn < times; turn += 1) {
    const atMs = startMs + turn * 1000;
    const evaluate = createEvaluator({ ...runtime, now: () => atMs + 100 });
    const { deliveries: due, transitions } = await evaluate([
      resultOf(monitor, agent, { dueAtMs: atMs, verdict: turn % 2 === 0 ? 'down' : 'up' }),
    ]);
    if (transitions.length !== 1) throw new Error(`The monitor did not change in turn ${turn}`);
    queued.push(...due.map(({ deliveryId }) => deliveryId));
  }
  return { endMs: startMs + times * 1000, queued };
}

test('flapping on 120 channels sends four changes at once, then only the newest, and counts the rest', async (t) => {
  const runtime = await openTestRuntime(t);
  await addWebhooks(runtime);
  const startMs = START_MS;
  const { endMs, queued } = await flap(runtime, startMs, 20);
  const rows = await deliveries(runtime);
  const waiting = rows.filter((row) => row.next_attempt_at > endMs);
  t.true(rows.length - waiting.length <= 480 + 20, `${rows.length - waiting.length} are due`);
  // By then the first of the waiting ones have been sent.
  t.true(waiting.length <= CHANNELS && waiting.length >= CHANNELS - 20, `${waiting.length} wait`);
  t.is(new Set(waiting.map((row) => row.channel_id)).size, waiting.length);
  t.true(waiting.every(({ message }) => message.detail.sequence === 20));
  t.deepEqual(queued.toSorted(), rows.map(({ id }) => id).toSorted());
  // No change is dropped silently: each one without a delivery is counted in the one that replaced it.
  t.is(rows.length + rows.reduce((sum, { changes }) => sum + (changes ?? 0), 0), 20 * CHANNELS);
  // During endless flapping, waiting deliveries keep their place: each channel is notified within a few minutes.
  t.true(Math.max(...waiting.map((row) => row.next_attempt_at)) <= endMs + 3 * 60_000);
});

test('a rate-limited channel gets the first four changes at once and the newest one later', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  await addWebhooks(runtime);
  const startMs = START_MS;
  const { endMs } = await flap(runtime, startMs, 10);
  const drain = async (nowMs: number): Promise<number[]> => {
    const sequences: number[] = [];
    for (;;) {
      const [claim] = await claimDeliveries(database, ['nch_7'], { nowMs, claimMs: 15_000 });
      const claimed = claim?.claimed ?? null;
      if (claimed === null) return sequences;
      sequences.push((claimed.message as MonitorMessage).detail.sequence);
      await recordAttempts(database, [
        {
          ...claimed,
          outcome: 'delivered',
          statusCode: 200,
          durationMs: 1,
          error: null,
          response: null,
          finishedAtMs: nowMs,
          nextAttemptAtMs: null,
        },
      ]);
    }
  };
  t.deepEqual(await drain(endMs), [1, 2, 3, 4]);
  t.deepEqual(await drain(endMs + 4 * 60_000), [10]);
  t.like(await retainHistory({ ...runtime, now: () => endMs + 3 * 3_600_000 }), { rates: 2 });
});

test('past rates are deleted without waiting for changes that use them again', async (t) => {
  const { database } = await openTestRuntime(t);
  await database.pool.query(`INSERT INTO delivery_rates (key, used_up) VALUES ('a', 1), ('b', 1)`);
  await inTransaction(database, async (run) => {
    await run(`UPDATE delivery_rates SET used_up = 3 WHERE key = 'a'`);
    t.is(await deletePastRates(database, 2), 1);
  });
  t.is(await deletePastRates(database, 2), 0);
  t.is(await deletePastRates(database, 4), 1);
});

test('the rate limit of one account does not affect another', async (t) => {
  const runtime = await openTestRuntime(t);
  await addWebhooks(runtime);
  const startMs = START_MS;
  await runtime.database.pool.query('INSERT INTO delivery_rates (key, used_up) VALUES ($1, $2)', [
    'ten_other',
    startMs + 3_600_000,
  ]);
  await flap(runtime, startMs, 1);
  t.true((await deliveries(runtime)).every((row) => row.next_attempt_at <= startMs + 1000));
});
