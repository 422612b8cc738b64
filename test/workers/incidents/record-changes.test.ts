import test from 'ava';
import { QUEUES } from '../../../queues/payloads.ts';
import { announce } from '../../../workers/incidents/record-changes.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

test('deliveries due later have a separate job and do not delay those due at once', async (t) => {
  const runtime = await openTestRuntime(t);
  const nowMs = runtime.now();
  const attempt = (deliveryId: string, dueAtMs: number) => ({
    deliveryId,
    channelId: `nch_${deliveryId}`,
    attempt: 1,
    dueAtMs,
  });
  await announce(runtime, {
    transitions: [],
    deliveries: [attempt('dlv_1', nowMs), attempt('dlv_summary', nowMs + 5000), attempt('dlv_2', nowMs)],
  });
  const queue = runtime.queues.all().find(({ name }) => name === QUEUES.deliver);
  const jobs = await queue?.getJobs(['waiting', 'delayed', 'prioritized']);
  t.deepEqual(
    jobs?.map(({ data }) => [data.deliveryIds, data.dueAtMs - nowMs]).toSorted((a, b) => a[1] - b[1]),
    [
      [['dlv_1', 'dlv_2'], 0],
      [['dlv_summary'], 5000],
    ],
  );
});
