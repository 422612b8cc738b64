import { recordPingAvailability } from '../models/heartbeats/watch.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import { watchHeartbeats } from '../workers/heartbeats/watch.ts';
import { createEvaluator } from '../workers/incidents/evaluate.ts';
import type { BenchContext } from './benchmark.ts';
import { median, percentile } from './figures.ts';
import { forkChild } from './harness/child.ts';
import { startInstallation, type Installation } from './harness/installation.ts';
import { startProcess } from './harness/running-service.ts';
import { readable } from './report.ts';

const HEARTBEATS = 100_000;
const INTERVAL_SECONDS = 3600;

/** Number of heartbeats that miss a ping in one round. */
const MISSED = 100;

/** Most CPU of PostgreSQL per round, in milliseconds. */
const ROUND_MS = 50;

const PINGS_PER_SECOND = 1000;

/** Number of heartbeats that are pinged, each with this secret in its token. */
const PINGED = 20_000;
const SECRET = 'bench';

/**
 * Measures 100,000 heartbeats: the cost of a poll in PostgreSQL with none and with 100 missed, and 1,000 pings a second
 * through the API.
 */
export async function heartbeats({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'postgres');
    const { database } = installation;
    await addHeartbeats(installation);
    const now = Date.now;
    const evaluator = createEvaluator({ database, now, newId: createIdSource(), publicUrl: 'http://localhost:3000' });
    const deciding: number[] = [];
    const evaluate: typeof evaluator = async (results) => {
      const before = await cpuSecondsOf([installation.postgresPid]);
      const outcome = await evaluator(results);
      deciding.push(((await cpuSecondsOf([installation.postgresPid])) - before) * 1000);
      return outcome;
    };
    const metrics = { heartbeatsMissed: () => undefined, resultsStored: () => undefined };
    const round = async () => {
      await recordPingAvailability(database, now);
      return await watchHeartbeats({ database, metrics, now, evaluate, announce: () => undefined });
    };

    const steadyRounds = isQuick ? 100 : 400;
    const steady = await postgresMsOf(installation, async () => {
      for (let done = 0; done < steadyRounds; done += 1) await round();
    });
    report.bound({
      name: `a round over ${readable(HEARTBEATS)} heartbeats that are all in time, PostgreSQL's CPU`,
      value: steady / steadyRounds,
      unit: ' ms',
      atMost: ROUND_MS,
    });

    const sweeps: number[] = [];
    for (let done = 0; done < (isQuick ? 5 : 15); done += 1) {
      await runOn(database.pool)(
        'UPDATE heartbeats SET due_at = $1::bigint WHERE monitor_no IN (SELECT monitor_no FROM heartbeats WHERE ' +
          'due_at IS NOT NULL ORDER BY monitor_no DESC LIMIT $2)',
        [now() - 1000, MISSED],
      );
      const before = deciding.length;
      const whole = await postgresMsOf(installation, async () => {
        const { missed } = await round();
        if (missed !== MISSED) throw new Error(`${missed} heartbeats were missed instead of ${MISSED}`);
      });
      sweeps.push(whole - (deciding[before] ?? 0));
    }
    report.bound({
      name: `a round with ${MISSED} missed, PostgreSQL's CPU`,
      value: mean(sweeps),
      unit: ' ms',
      atMost: ROUND_MS,
    });
    report.figure(
      `beside it the evaluator took ${readable(mean(deciding))} ms of PostgreSQL's CPU to decide those ` +
        `${MISSED}, as for any type of monitor`,
    );

    const web = await startProcess(harness, 'web', installation.env);
    const load = await forkChild<null>(harness, 'ping-load', {
      url: web.url,
      heartbeats: PINGED,
      secret: SECRET,
      perSecond: PINGS_PER_SECOND,
    });
    await load.ask({ seconds: 2 });
    const seconds = isQuick ? 3 : 10;
    const [own, servers] = [await cpuSecondsOf([web.program.pid]), await cpuSecondsOf([installation.postgresPid])];
    const { statuses, latencies } = await load.ask<{ statuses: Record<string, number>; latencies: number[] }>({
      seconds,
    });
    const pings = latencies.length;
    const us = (before: number, after: number) => readable(((after - before) * 1e6) / pings);
    report.figure(
      `CPU of a ping: ${us(own, await cpuSecondsOf([web.program.pid]))} us of web, ` +
        `${us(servers, await cpuSecondsOf([installation.postgresPid]))} us of PostgreSQL`,
    );
    report.figure(
      `${readable(pings)} pings in ${seconds} s were answered ${JSON.stringify(statuses)} after p50 ` +
        `${readable(median(latencies))} ms, p99 ${readable(percentile(latencies, 0.99))} ms, at most ` +
        `${readable(Math.max(...latencies))} ms`,
    );
    report.bound({
      name: `pings accepted of ${readable(PINGS_PER_SECOND)}/s`,
      value: (100 * (statuses['200'] ?? 0)) / (seconds * PINGS_PER_SECOND),
      unit: ' %',
      atLeast: 99.9,
    });
  });
}

/** Inserts heartbeats that have been up for an hour and are due within the next one. */
async function addHeartbeats({ database, tenantId }: Installation): Promise<void> {
  const run = runOn(database.pool);
  const nowMs = Date.now();
  await run(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources,
                           heartbeat_grace_seconds, state, state_since, sequence, created_at, updated_at)
     SELECT 'mon_' || lpad(i::text, 26, '0'), $1, 'Job ' || i, 'heartbeat', $2::int, 10000, false, 2, 1, 1, 720, 'up',
       $3::bigint, 1, $3::bigint / 1000, $3::bigint / 1000
     FROM generate_series(1, $4::int) AS i`,
    [tenantId, INTERVAL_SECONDS, nowMs - 3_600_000, HEARTBEATS],
  );
  await run(
    'INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds) SELECT m.no, a.no, m.interval_seconds ' +
      'FROM monitors m, agents a WHERE a.kind = $1',
    ['service'],
  );
  await run(
    `INSERT INTO heartbeats (monitor_no, token_fingerprint, interval_seconds, grace_seconds, fail_enabled, is_paused,
     verdict, heard_at, due_at)
     SELECT no, sha256(convert_to(id || '.' || $2, 'UTF8')), interval_seconds, 720, true, false, 'up', $1::bigint,
       $1::bigint + 600000 + (no % 3600) * 1000 FROM monitors`,
    [nowMs - 60_000, SECRET],
  );
  await run('VACUUM ANALYZE');
}

/** Returns the mean: CPU times come in steps of 10 ms, so single rounds mean little. */
function mean(samples: readonly number[]): number {
  return samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
}

/** Measures PostgreSQL's CPU time in milliseconds. */
async function postgresMsOf({ postgresPid }: Installation, work: () => Promise<void>): Promise<number> {
  const before = await cpuSecondsOf([postgresPid]);
  await work();
  return ((await cpuSecondsOf([postgresPid])) - before) * 1000;
}
