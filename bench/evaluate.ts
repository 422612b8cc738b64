import type { MeasuredResult } from '../models/checks/check-results.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import { createEvaluator } from '../workers/incidents/evaluate.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { cpuOf, startInstallation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { readable } from './report.ts';

const MONITORS = 20_000;
const INTERVAL_SECONDS = 60;
const WARM_UP_ROUNDS = 2;

/** At this interval one success in this many stores its timings: one in ten minutes. */
const SAMPLED_ONE_IN = 600 / INTERVAL_SECONDS;

const TIMINGS = { dnsMs: 4, connectMs: 11, tlsMs: 23, firstByteMs: 22, downloadMs: 2 };

/** The response of a failing check: an error page as long as the stored part. */
const FAILED_ANSWER = {
  status: 503,
  headers: {
    server: 'nginx',
    date: 'Wed, 21 Oct 2026 07:28:00 GMT',
    'content-type': 'text/html; charset=utf-8',
    'content-length': '1852',
    connection: 'close',
    'retry-after': '30',
    via: '1.1 edge-7',
  },
  body: 'The service is down for a while: we are on it. '.repeat(21),
};

/**
 * Bounds: results per CPU second of evaluator and PostgreSQL together, and bytes of a stored result with its indexes.
 */
const LEAST_PER_CORE = 10_000;
const BYTES_A_RESULT = 100;

/** Shares of results that change a status in each round, half of them to down and half back to up. */
const PATHS = [
  { name: 'steady', share: 0 },
  { name: '1 % of the results changing a status', share: 0.01 },
] as const;

/** Batch sizes under load, and at 1,000 checks per second. */
const BATCH_SIZES = [500, 100] as const;

/** Measures deciding and storing without the queue: batches go straight to the evaluator. */
export async function evaluate({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'postgres');
    await addMonitors(installation, {
      count: MONITORS,
      intervalSeconds: INTERVAL_SECONDS,
      targets: ['http://127.0.0.1/m/'],
      downAfterFailures: 1,
    });
    const sources = await runOn(installation.database.pool)<{ monitor_no: number; agent_no: number }>(
      'SELECT monitor_no, agent_no FROM monitor_sources ORDER BY monitor_no',
    );
    const decide = createEvaluator({
      database: installation.database,
      now: Date.now,
      newId: createIdSource(),
      publicUrl: 'http://localhost:3000',
    });
    for (const { name, share } of PATHS) {
      for (const size of BATCH_SIZES) {
        const rates: number[] = [];
        const rounds = WARM_UP_ROUNDS + (isQuick ? 3 : 9);
        for (let round = 0; round < rounds; round += 1) {
          // Results must be newer than those that the monitors were added with, or they change nothing.
          const dueAtMs = Date.now();
          const results = sources.map((source, index) =>
            resultOf(
              { monitorNo: source.monitor_no, agentNo: source.agent_no, dueAtMs },
              { bad: isBad({ index, round, share }), sampled: index % SAMPLED_ONE_IN === round % SAMPLED_ONE_IN },
            ),
          );
          let changes = 0;
          const cpuSeconds = await cpuOf(installation, async () => {
            for (let start = 0; start < results.length; start += size)
              changes += (await decide(results.slice(start, start + size))).transitions.length;
          });
          if (changes > 0 !== share > 0) throw new Error(`${changes} statuses changed: ${name}`);
          if (round >= WARM_UP_ROUNDS) rates.push(results.length / cpuSeconds);
        }
        report.figure(
          `${name}, batches of ${size}: ${readable(median(rates))} results/s a core ` +
            `(${readable(Math.min(...rates))} to ${readable(Math.max(...rates))})`,
        );
        if (size === 500)
          report.bound({
            name: `deciding and storing, ${name}`,
            value: median(rates),
            unit: '/s a core',
            atLeast: LEAST_PER_CORE,
          });
      }
    }
    const [table] = await runOn(installation.database.pool)<{ bytes: number; results: number }>(
      `SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
       WHERE inhparent = 'check_results'::regclass)::bigint AS bytes, count(*) AS results FROM check_results`,
    );
    const bytes = (table?.bytes ?? Number.NaN) / (table?.results ?? 1);
    report.figure(`${readable(table?.results ?? 0)} stored results take ${readable((table?.bytes ?? 0) / 2 ** 20)} MB`);
    report.bound({ name: 'a stored result with its index', value: bytes, unit: ' bytes', atMost: BYTES_A_RESULT });
  });
}

/** Reports whether a monitor is down in a round; each round has another group. */
function isBad({ index, round, share }: { index: number; round: number; share: number }): boolean {
  const groups = 2 / share;
  return share > 0 && index % groups === round % groups;
}

function resultOf(
  key: { monitorNo: number; agentNo: number; dueAtMs: number },
  { bad, sampled }: { bad: boolean; sampled: boolean },
): MeasuredResult {
  const answer = bad
    ? {
        verdict: 'down' as const,
        cause: 'status_503',
        reason: 'HTTP 503 instead of 2xx',
        httpStatus: 503,
        answer: FAILED_ANSWER,
      }
    : { verdict: 'up' as const, cause: null, reason: null, httpStatus: 200, answer: null };
  return { ...key, ...answer, checksVersion: 1, latencyMs: 62, phases: bad || sampled ? TIMINGS : null };
}
