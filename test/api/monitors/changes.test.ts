import test from 'ava';
import { ApiError } from '../../../api/api-error.ts';
import { acceptStored } from '../../../api/monitors/changes.ts';
import { MonitorRefusal, type MonitorRefusalReason } from '../../../models/monitors/monitor-changes.ts';

const REFUSALS: readonly [MonitorRefusalReason, string | RegExp][] = [
  [
    { reason: 'plan_limit', plan: 'free' },
    'the free plan allows at most 20 monitors, and this account has reached the limit: delete one first',
  ],
  [{ reason: 'too_many_routes' }, /^an account can have at most 100,000 pairs of a monitor and a channel/],
  [
    { reason: 'agents_gone', ids: ['a', 'b', 'c', 'd', 'e', 'f'] },
    'agent_sources must be ids of your agents or of shared ones, got unknown a, b, c, d, e',
  ],
  [
    {
      reason: 'parents',
      problems: [
        { field: 'depends_on', message: 'one' },
        { field: 'depends_on', message: 'two' },
      ],
    },
    'one; two',
  ],
];

for (const [why, message] of REFUSALS)
  test(`a monitor refused for ${why.reason} is a 400 that says so`, async (t) => {
    const error = await t.throwsAsync<ApiError>(acceptStored(Promise.reject(new MonitorRefusal(why))), {
      instanceOf: ApiError,
      message,
    });
    t.is(error?.status, 400);
  });

test('any other error is passed on', async (t) => {
  const lost = new Error('The connection is gone');
  t.is(await t.throwsAsync(acceptStored(Promise.reject(lost))), lost);
});
