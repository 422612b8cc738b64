import { createChannel } from '../models/alerts/channels.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import { createEvaluator } from '../workers/incidents/evaluate.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { cpuOf, startInstallation } from './harness/installation.ts';
import { addMonitors, resultOf } from './harness/monitors.ts';
import { readable } from './report.ts';

const MONITORS = 20_000;
const PARENTS = 200;
const BATCH = 500;
const WARM_UP_CYCLES = 2;

/** One result in this many changes a status. */
const CHANGING_ONE_IN = 100;

/** Bound of the cost of holds, evaluator and PostgreSQL together, as a factor. */
const MAX_TIMES = 1.05;

/** Measures the cost of the evaluator when every monitor depends on another and when none does, in turns. */
export async function dependencies({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'postgres');
    const { database } = installation;
    await addMonitors(installation, {
      count: MONITORS,
      intervalSeconds: 60,
      targets: ['http://127.0.0.1/m/'],
      downAfterFailures: 1,
    });
    const run = runOn(database.pool);
    const newId = createIdSource();
    const tenants = await run<{ id: string }>('SELECT DISTINCT tenant_id AS id FROM monitors');
    for (const { id: tenantId } of tenants)
      await createChannel(database, {
        id: newId('nch'),
        tenantId,
        type: 'telegram',
        name: 'On call',
        status: 'connected',
        allMonitors: true,
        monitorIds: [],
        nowMs: Date.now(),
        author: null,
      });
    const sources = await run<{ monitorNo: number; agentNo: number }>(
      'SELECT monitor_no AS "monitorNo", agent_no AS "agentNo" FROM monitor_sources ORDER BY monitor_no',
    );
    const decide = createEvaluator({ database, now: Date.now, newId, publicUrl: 'http://localhost:3000' });
    let dueAtMs = Date.now();
    const firstAtMs = dueAtMs + 300;
    /** Returns the CPU seconds of a round in which some monitors go down and of one in which they recover. */
    const measure = (group: number) =>
      cpuOf(installation, async () => {
        for (const isDown of [true, false]) {
          dueAtMs += 300;
          // The first monitors are parents: they were up once, and their next checks are not due yet.
          const checked = dueAtMs === firstAtMs ? sources : sources.slice(PARENTS);
          const results = checked.map(({ monitorNo, agentNo }, index) => {
            const isBad = isDown && dueAtMs !== firstAtMs && index % CHANGING_ONE_IN === group % CHANGING_ONE_IN;
            return resultOf({ monitorNo, agentNo, dueAtMs }, isBad);
          });
          for (let start = 0; start < results.length; start += BATCH) await decide(results.slice(start, start + BATCH));
        }
      });
    const depend = async (isDepending: boolean) => {
      await run('DELETE FROM monitor_dependencies');
      if (isDepending)
        await run(
          `WITH numbered AS (SELECT no, row_number() OVER (ORDER BY no) - 1 AS index FROM monitors)
           INSERT INTO monitor_dependencies SELECT m.no, p.no, 'hold' FROM numbered m
             JOIN numbered p ON p.index = m.index % ${PARENTS} WHERE m.index >= ${PARENTS}`,
        );
      await run('ANALYZE monitor_dependencies');
    };
    const ratios: number[] = [];
    for (let cycle = 0; cycle < WARM_UP_CYCLES + (isQuick ? 4 : 12); cycle += 1) {
      // The order alternates, because the first run of a cycle finds the processor's caches as the other left them.
      const seconds = new Map<boolean, number>();
      for (const isDepending of cycle % 2 === 0 ? [false, true] : [true, false]) {
        await depend(isDepending);
        seconds.set(isDepending, await measure(2 * cycle + Number(isDepending)));
      }
      if (cycle >= WARM_UP_CYCLES) ratios.push((seconds.get(true) ?? Number.NaN) / (seconds.get(false) ?? 1));
    }
    const [held] = await run<{ held: number }>('SELECT count(*) AS held FROM parent_holds');
    report.figure(
      `${readable(median(ratios))} times the evaluator without dependencies (${readable(Math.min(...ratios))} to ` +
        `${readable(Math.max(...ratios))}); ${held?.held ?? 0} alerts were held`,
    );
    report.bound({ name: 'evaluating with holds', value: median(ratios), unit: ' times', atMost: MAX_TIMES });
  });
}
