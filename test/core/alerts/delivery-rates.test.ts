import test from 'ava';
import { planDue, usedUpBy } from '../../../core/alerts/delivery-rates.ts';

const NOW = 1_763_720_000_000;
const toChannels = (monitorId: string, count: number) =>
  Array.from({ length: count }, () => ({ tenantId: 'ten_1', monitorId }));

test('a burst is due immediately: 1000 monitors to three channels, or one monitor to 1000 channels twice', (t) => {
  const outage = Array.from({ length: 1000 }, (_, no) => toChannels(`mon_${no}`, 3)).flat();
  t.true(planDue(outage, new Map(), NOW).every((dueAtMs) => dueAtMs === NOW));
  const marks = usedUpBy(toChannels('mon_1', 1000));
  t.true(
    planDue(toChannels('mon_1', 1000), new Map([...marks].map(([key, ms]) => [key, NOW + ms])), NOW).every(
      (dueAtMs) => dueAtMs === NOW,
    ),
  );
});

test('deliveries beyond the rate are delayed in 5 s steps, at most an hour even with marks far ahead', (t) => {
  const marks = new Map<string, number>();
  const due = planDue(toChannels('mon_1', 5000), marks, NOW);
  t.is(due[2999], NOW);
  for (const [index, dueAtMs] of due.entries()) {
    t.true(dueAtMs >= (due[index - 1] ?? NOW) && (dueAtMs === NOW || dueAtMs % 5000 === 0));
    if (index >= 3000) t.true(dueAtMs >= NOW + (index - 2999) * 20);
  }
  const [flapping = 0] = planDue(toChannels('mon_1', 1), new Map([['mon_1', NOW + 302_000]]), NOW);
  t.true(flapping >= NOW + 61_000 && flapping <= NOW + 66_000);
  const [other = 0] = planDue(toChannels('mon_1', 1), new Map([['mon_1', NOW + 10 ** 12]]), NOW);
  t.true(other <= NOW + 3_605_000);
});
