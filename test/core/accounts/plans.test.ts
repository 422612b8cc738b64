import test from 'ava';
import { PLAN_LIMITS, PLANS } from '../../../core/accounts/plans.ts';

test('a more expensive plan never allows less', (t) => {
  const [free, solo, pro] = PLANS.map((plan) => PLAN_LIMITS[plan]);
  for (const [less, more] of [
    [free, solo],
    [solo, pro],
  ] as const) {
    t.true(less !== undefined && more !== undefined);
    if (less === undefined || more === undefined) return;
    t.true(less.monitors < more.monitors && less.ownAgents < more.ownAgents && less.resultDays < more.resultDays);
    t.true(less.minIntervalSeconds > more.minIntervalSeconds);
    t.true(less.tokens <= more.tokens && less.requestsPerMinute <= more.requestsPerMinute);
  }
});
