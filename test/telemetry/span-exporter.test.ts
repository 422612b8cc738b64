import test from 'ava';
import type { TraceRequest } from '../../core/system/otlp.ts';
import type { Sent } from '../../telemetry/sender.ts';
import { SpanExporter, type SpanOutcome } from '../../telemetry/span-exporter.ts';
import { ORIGIN, failedCheck } from '../helpers/failed-check.ts';
import { until } from '../helpers/until.ts';

const AWAY: Sent = { outcome: 'retry', reason: 'The connection was refused', afterMs: 0 };

/** Opens an exporter to a collector whose responses come from `answer`. */
function openExporter(answer: () => Sent | Promise<Sent>) {
  const counts: Record<SpanOutcome, number> = { sent: 0, refused: 0, dropped: 0 };
  const batches: number[] = [];
  const troubles: (string | null)[] = [];
  const send = async (request: TraceRequest | object): Promise<Sent> => {
    const spans = 'resourceSpans' in request ? request.resourceSpans[0].scopeSpans[0].spans : [];
    batches.push(spans.filter(({ parentSpanId }) => parentSpanId === undefined).length);
    return await answer();
  };
  const exporter = new SpanExporter({
    sender: { send },
    origin: ORIGIN,
    count: (outcome, checks) => (counts[outcome] += checks),
    onAttempt: (trouble) => troubles.push(trouble),
    random: () => 0,
  });
  const record = (checks: number) => {
    for (let check = 0; check < checks; check += 1) exporter.record(failedCheck());
  };
  return { exporter, record, counts, batches, troubles };
}

test('while the collector is unreachable 2,048 checks are queued, and further ones dropped and counted', async (t) => {
  let answer: Sent = AWAY;
  const { exporter, record, counts, batches, troubles } = openExporter(() => answer);
  record(5000);
  await until(() => batches.length >= 3);
  t.deepEqual(counts, { sent: 0, refused: 0, dropped: 5000 - 2048 });
  t.true(batches.every((checks) => checks === 256));
  t.is(troubles[0], 'The connection was refused');

  answer = { outcome: 'accepted' };
  await until(() => counts.sent === 2048);
  t.is(troubles.at(-1), null);
  await exporter.stop();
  t.deepEqual(counts, { sent: 2048, refused: 0, dropped: 5000 - 2048 });
});

test('a Retry-After of 0 does not shorten the wait between retries', async (t) => {
  const { exporter, record, batches } = openExporter(() => AWAY);
  record(1);
  await until(() => batches.length === 1);
  const startedAtMs = performance.now();
  await until(() => batches.length >= 3);
  // The exporter waits half a second, then one second; timers may fire slightly early.
  t.true(performance.now() - startedAtMs > 1400);
  await exporter.stop();
});

test('a refused batch is dropped, and the next one is sent', async (t) => {
  const answers: Sent[] = [{ outcome: 'refused', reason: 'The collector responded with 400' }, { outcome: 'accepted' }];
  const { exporter, record, counts } = openExporter(() => answers.shift() ?? AWAY);
  record(300);
  await until(() => counts.sent > 0);
  t.deepEqual(counts, { sent: 300 - 256, refused: 256, dropped: 0 });
  await exporter.stop();
});

test('a collector that never responds delays neither checks nor the stop', async (t) => {
  const { promise: never } = Promise.withResolvers<Sent>();
  const { exporter, record, counts, batches } = openExporter(() => never);
  record(10);
  await until(() => batches.length === 1);
  record(10);
  await exporter.stop();
  t.deepEqual(batches, [10], 'one request is in flight at a time');
  t.deepEqual(counts, { sent: 0, refused: 0, dropped: 20 });
});

test('on stop queued checks are sent at once, and an unreachable collector is not retried', async (t) => {
  const here = openExporter(() => ({ outcome: 'accepted' }));
  here.record(600);
  await here.exporter.stop();
  t.deepEqual(here.batches, [256, 256, 88]);
  t.is(here.counts.sent, 600);

  const away = openExporter(() => AWAY);
  away.record(600);
  await away.exporter.stop();
  t.deepEqual(away.batches, [256]);
  t.deepEqual(away.counts, { sent: 0, refused: 0, dropped: 600 });
});
