import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import type { Harness } from '../test/helpers/harness.ts';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import { createEvaluator } from '../workers/incidents/evaluate.ts';
import type { BenchContext } from './benchmark.ts';
import { percentile } from './figures.ts';
import { addTokens } from './harness/accounts.ts';
import { BACKENDS, startInstallation, type Installation } from './harness/installation.ts';
import { addMonitors, monitorId, resultOf } from './harness/monitors.ts';
import { startProcess } from './harness/running-service.ts';
import { readable } from './report.ts';

const MONITORS = 5000;
const INTERVAL_SECONDS = 60;
const STREAMS = 100;
const WEBS = 2;

/** Number of tokens: each may have 20 streams per process. */
const TOKENS = 5;

/** Size and interval of batches: the results per second of 100,000 monitors at a minute, as evaluators get them. */
const BATCH = 500;
const BATCH_EVERY_MS = 300;

/** One batch in this many has a change of state. */
const CHANGES_EVERY = 2;

/** Bound of the delay in milliseconds. */
const MAX_MS = 1000;

/** Arrival time of each change at each stream: `<monitor> <status>`, and `reset`. */
type StreamLog = { at: Map<string, number>[]; bytes: number };

/** Measures how soon streams send changes under load, and the cost of 5,000 changes at once. */
export async function live({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  for (const backend of BACKENDS) {
    await withHarness(async (harness) => {
      const installation = await startInstallation(harness, backend);
      await addMonitors(installation, {
        count: MONITORS,
        intervalSeconds: INTERVAL_SECONDS,
        targets: ['http://127.0.0.1/m/'],
        downAfterFailures: 1,
      });
      const tokens = await addTokens(installation, TOKENS);
      const webs = await Promise.all(
        Array.from({ length: WEBS }, () => startProcess(harness, 'web', installation.env)),
      );
      const received: StreamLog = { at: [], bytes: 0 };
      for (let number = 0; number < STREAMS; number += 1) {
        openStream(
          harness,
          { url: webs[number % WEBS]?.url ?? '', token: tokens[Math.floor(number / WEBS) % TOKENS] ?? '' },
          received,
        );
      }
      await until(() => received.at.length === STREAMS && received.at.every((events) => events.has('ready')));
      const cpuBefore = await cpuSecondsOf(webs.map(({ program }) => program.pid));
      const { tookMs, seconds, missed } = await changeUnderLoad(installation, received, isQuick ? 40 : 200);
      const cpu = (await cpuSecondsOf(webs.map(({ program }) => program.pid))) - cpuBefore;
      report.figure(
        `queues in ${backend}: ${STREAMS} streams at ${WEBS} processes, ` +
          `${readable(BATCH * (1000 / BATCH_EVERY_MS))} results/s: ${readable(percentile(tookMs, 0.5))} ms from a ` +
          `change being decided to a stream sending it (p99 ${readable(percentile(tookMs, 0.99))}, most ` +
          `${readable(Math.max(...tookMs))}), ${missed} missed, ${readable((cpu / seconds) * 100)} % of a core`,
      );
      report.bound({
        name: `a change to its streams with queues in ${backend}, p99`,
        value: percentile(tookMs, 0.99),
        unit: ' ms',
        atMost: MAX_MS,
      });
      report.bound({
        name: `changes missed by a stream with queues in ${backend}`,
        value: missed,
        unit: '',
        atMost: 0,
      });
      await changeAll(installation, received, report.figure);
    });
  }
}

function openStream(harness: Harness, { url, token }: { url: string; token: string }, received: StreamLog): void {
  const events = new Map<string, number>();
  received.at.push(events);
  const asking = request(
    `${url}/v1/live`,
    { headers: { Authorization: `Bearer ${token}` }, agent: false },
    (response) => {
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        const nowMs = performance.now();
        received.bytes += text.length;
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          const [event = '', , data = ''] = block.split('\n').map((line) => line.slice(line.indexOf(':') + 2));
          const { id = '', status = '' } =
            event === 'monitor' ? (JSON.parse(data) as { id: string; status: string }) : {};
          events.set(event === 'monitor' ? `${id} ${status}` : event, nowMs);
        }
      });
    },
  );
  asking.on('error', () => undefined);
  asking.end();
  harness.teardown(async () => void asking.destroy());
}

/** Sends steady results, and now and then a monitor that goes down and comes back. */
async function changeUnderLoad(
  { database }: Installation,
  received: StreamLog,
  batches: number,
): Promise<{ tookMs: number[]; seconds: number; missed: number }> {
  const decide = createEvaluator({
    database,
    now: Date.now,
    newId: createIdSource(),
    publicUrl: 'http://localhost:3000',
  });
  const sources = await runOn(database.pool)<{ no: number; id: string; agent_no: number }>(
    'SELECT m.no, m.id, s.agent_no FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no ORDER BY m.no',
  );
  const tookMs: number[] = [];
  let missed = 0;
  const startedAt = performance.now();
  for (let batch = 0; batch < batches; batch += 1) {
    const first = (batch * BATCH) % MONITORS;
    // Every round of ten batches covers all monitors; the first of some batches is down in every other round.
    const isDown = Math.floor((batch * BATCH) / MONITORS) % 2 === 0;
    const turning = batch % CHANGES_EVERY === 0 ? sources[first] : undefined;
    for (const events of received.at) events.clear();
    const dueAtMs = Date.now();
    await decide(
      sources
        .slice(first, first + BATCH)
        .map((source) =>
          resultOf({ monitorNo: source.no, agentNo: source.agent_no, dueAtMs }, source === turning && isDown),
        ),
    );
    const decidedAt = performance.now();
    await delay(Math.max(BATCH_EVERY_MS / 2, startedAt + (batch + 1) * BATCH_EVERY_MS - performance.now()));
    if (turning === undefined) continue;
    const key = `${turning.id} ${isDown ? 'down' : 'up'}`;
    await until(() => received.at.every((events) => events.has(key)), MAX_MS * 2);
    for (const events of received.at) {
      const at = events.get(key);
      if (at === undefined) missed += 1;
      else tookMs.push(at - decidedAt);
    }
  }
  return { tookMs, seconds: (performance.now() - startedAt) / 1000, missed };
}

/** Changes all monitors at once, which are too many to report one by one. */
async function changeAll(
  { database }: Installation,
  received: StreamLog,
  figure: (text: string) => void,
): Promise<void> {
  for (const events of received.at) events.clear();
  received.bytes = 0;
  const startedAt = performance.now();
  await runOn(database.pool)(`UPDATE monitors SET name = name || ' all' WHERE id BETWEEN $1 AND $2`, [
    monitorId(1),
    monitorId(MONITORS),
  ]);
  const changedAt = performance.now();
  await until(() => received.at.every((events) => events.has('reset')), 10_000);
  const tookMs = received.at.map((events) => (events.get('reset') ?? Number.NaN) - changedAt);
  figure(
    `${readable(MONITORS)} monitors changed in one statement of ${readable(changedAt - startedAt)} ms: each ` +
      `stream was told to load anew, the last one ${readable(Math.max(...tookMs))} ms later; ` +
      `${readable(received.bytes / STREAMS)} bytes a stream`,
  );
}

/** Waits for a condition or the timeout; missing data then show in the figures. */
async function until(isSo: () => boolean, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!isSo() && performance.now() < deadline) await delay(5);
}
