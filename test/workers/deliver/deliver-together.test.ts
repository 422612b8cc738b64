import test from 'ava';
import { deliverTogether } from '../../../workers/deliver/deliver-together.ts';
import type { DeliverResult } from '../../../workers/deliver.ts';

const IDS = Array.from({ length: 10 }, (_, index) => `dlv_${index}`);

test('all are delivered in order, four at a time', async (t) => {
  const begun: string[] = [];
  let underWay = 0;
  let most = 0;
  const result = await deliverTogether(IDS, async (deliveryId): Promise<DeliverResult> => {
    begun.push(deliveryId);
    underWay += 1;
    most = Math.max(most, underWay);
    await Promise.resolve();
    underWay -= 1;
    return { outcome: 'delivered' };
  });
  t.deepEqual(result, { outcomes: { delivered: 10 }, rest: null });
  t.deepEqual(begun, IDS);
  t.is(most, 4);
});

test('what must wait is left in order for when the first of it may come back, and the others are done', async (t) => {
  const result = await deliverTogether(IDS, (deliveryId): Promise<DeliverResult> => {
    const index = IDS.indexOf(deliveryId);
    return Promise.resolve(index % 2 === 0 ? { outcome: index === 0 ? 'retry' : 'delivered' } : { postponeMs: 1000 - index });
  });
  t.deepEqual(result.outcomes, { retry: 1, delivered: 4 });
  t.deepEqual(result.rest, { deliveryIds: ['dlv_1', 'dlv_3', 'dlv_5', 'dlv_7', 'dlv_9'], postponeMs: 991 });
});

test('a database that goes away fails the job, whose rows are still pending', async (t) => {
  await t.throwsAsync(deliverTogether(IDS, () => Promise.reject(new Error('connection lost'))), { message: 'connection lost' });
});
