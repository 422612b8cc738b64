import test, { type ExecutionContext } from 'ava';
import type { AnswerEvidence } from '../../../core/incidents/evidence.ts';
import type { MeasuredResult } from '../../../models/checks/check-results.ts';
import { listIncidents } from '../../../models/incidents/history.ts';
import { listEvidence, type IncidentEvidence } from '../../../models/incidents/incidents.ts';
import { pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { sweep } from '../../../workers/system/sweep.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';

const SECOND = 1000;
const TIMINGS = { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: 8, downloadMs: null };

function answerOf(body: string): AnswerEvidence {
  return { status: 503, headers: { server: 'nginx' }, body };
}

/** Sets up a monitor with several sources, named by index; each result's response has its second as body. */
async function watched(t: ExecutionContext, { sources = 1, quorum = 1 }: { sources?: number; quorum?: number } = {}) {
  const runtime = await openTestRuntime(t);
  const agents = await Promise.all(Array.from({ length: sources }, (_, index) => runtime.addAgent(`source-${index}`)));
  const monitor = await runtime.addMonitor(agents, { downMinSources: quorum });
  const nowMs = Date.now();
  // Each batch is decided once its newest result has arrived.
  let clockMs = nowMs;
  const decide = createEvaluator({
    database: runtime.database,
    now: () => clockMs,
    newId: runtime.newId,
    publicUrl: runtime.publicUrl,
  });
  const evaluate = (results: readonly MeasuredResult[]) => {
    clockMs = Math.max(...results.map(({ dueAtMs }) => dueAtMs));
    return decide(results);
  };
  const at = (second: number, verdict: MeasuredResult['verdict'], index = 0): MeasuredResult => {
    const isBad = verdict === 'down' || verdict === 'degraded';
    return resultOf(monitor, agents[index]!, {
      dueAtMs: nowMs + second * SECOND,
      verdict,
      phases: isBad ? TIMINGS : null,
      answer: isBad ? answerOf(`at ${second}`) : null,
    });
  };
  const secondOf = ({ atMs }: { atMs: number }) => (atMs - nowMs) / SECOND;
  return { runtime, agents, monitor, nowMs, evaluate, at, secondOf };
}

/** Returns the evidence of each incident, oldest first. */
async function evidenceOf({ database, tenantId }: TestRuntime): Promise<IncidentEvidence[][]> {
  const incidents = await listIncidents(database, { tenantId, limit: 100 });
  return await Promise.all(incidents.toReversed().map(({ id }) => listEvidence(database, id)));
}

async function readStoredEvidence(runtime: TestRuntime): Promise<unknown[]> {
  return (
    await runtime.database.pool.query<{ seen: unknown }>('SELECT seen FROM monitor_sources ORDER BY agent_no')
  ).rows.map(({ seen }) => seen);
}

test('an incident keeps the evidence of the first failure, even from a batch before the decision', async (t) => {
  const { runtime, agents, evaluate, at, secondOf } = await watched(t);
  await evaluate([at(-180, 'up')]);
  await evaluate([at(-120, 'down')]);
  await evaluate([{ ...at(-60, 'down'), answer: null }]);

  const [[evidence, ...others] = []] = await evidenceOf(runtime);
  t.deepEqual(others, []);
  t.like(evidence, {
    agentNo: agents[0]?.no,
    sourceId: agents[0]?.id,
    sourceName: 'source-0',
    verdict: 'down',
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
    httpStatus: 503,
    latencyMs: 12,
  });
  t.is(evidence && secondOf(evidence), -120);
  t.deepEqual(evidence?.evidence, { phases: TIMINGS, answer: answerOf('at -120') });
});

test('evidence is not stored in source states, transitions, deliveries or results', async (t) => {
  const { runtime, evaluate, at } = await watched(t);
  await evaluate([at(-180, 'up'), at(-120, 'down'), at(-60, 'down')]);
  const { rows } = await runtime.database.pool.query<{ text: string }>(
    `SELECT state::text AS text FROM monitor_sources UNION ALL SELECT t::text FROM transitions t UNION ALL
     SELECT d::text FROM deliveries d UNION ALL SELECT r::text FROM check_results r`,
  );
  t.true(rows.length >= 6);
  t.deepEqual(
    rows.filter(({ text }) => text.includes('nginx') || text.includes('at -')),
    [],
  );
});

test('an incident that starts and ends in one batch keeps its evidence, and the source drops its copy', async (t) => {
  const { runtime, evaluate, at, secondOf } = await watched(t);
  await evaluate([at(-240, 'up'), at(-180, 'down'), at(-120, 'down'), at(-60, 'up')]);
  const [[evidence] = []] = await evidenceOf(runtime);
  t.is(evidence && secondOf(evidence), -180);
  t.deepEqual(evidence?.evidence?.answer, answerOf('at -180'));
  t.deepEqual(await readStoredEvidence(runtime), [null]);
});

test('evidence of a failure without an incident is dropped, and the next streak has its own', async (t) => {
  const { runtime, evaluate, at, secondOf } = await watched(t);
  await evaluate([at(-300, 'up')]);
  await evaluate([at(-240, 'down')]);
  t.true(JSON.stringify(await readStoredEvidence(runtime)).includes('at -240'));
  await evaluate([at(-180, 'up')]);
  t.deepEqual(await readStoredEvidence(runtime), [null]);
  await evaluate([at(-120, 'down')]);
  await evaluate([at(-60, 'down')]);
  const [[evidence] = []] = await evidenceOf(runtime);
  t.is(evidence && secondOf(evidence), -120);
  t.deepEqual(evidence?.evidence?.answer, answerOf('at -120'));
});

test('each source with a failure when the incident opens has an evidence row, and a working one none', async (t) => {
  const { runtime, agents, evaluate, at, secondOf } = await watched(t, { sources: 4, quorum: 2 });
  await evaluate([0, 1, 2, 3].map((index) => at(-170, 'up', index)));
  await evaluate([at(-110, 'down', 0), at(-109, 'down', 1), at(-108, 'up', 2), at(-107, 'up', 3)]);
  // The second source's second failure completes the quorum; by then the third source has failed once.
  await evaluate([at(-60, 'down', 0), at(-59, 'down', 2), at(-58, 'down', 1), at(-57, 'up', 3)]);
  const [rows = []] = await evidenceOf(runtime);
  t.deepEqual(
    rows.map((row) => [row.agentNo, secondOf(row), row.evidence?.answer?.body]),
    [
      [agents[0]?.no, -110, 'at -110'],
      [agents[1]?.no, -109, 'at -109'],
      [agents[2]?.no, -59, 'at -59'],
    ],
  );
});

test('a source that fails during the incident gets a row then, and keeps it when it fails again', async (t) => {
  const { runtime, agents, evaluate, at, secondOf } = await watched(t, { sources: 2 });
  await evaluate([at(-600, 'up', 0), at(-600, 'up', 1)]);
  await evaluate([at(-540, 'down', 0), at(-480, 'down', 0)]);
  t.deepEqual(
    (await evidenceOf(runtime)).map((rows) => rows.length),
    [1],
  );
  await evaluate([at(-420, 'down', 1)]);
  t.deepEqual(
    (await evidenceOf(runtime)).map((rows) => rows.length),
    [1],
  );
  await evaluate([at(-360, 'down', 1)]);
  await evaluate([at(-300, 'up', 1)]);
  await evaluate([at(-240, 'down', 1), at(-180, 'down', 1)]);
  const [rows = []] = await evidenceOf(runtime);
  t.deepEqual(
    rows.map((row) => [row.agentNo, secondOf(row), row.evidence?.answer?.body]),
    [
      [agents[0]?.no, -540, 'at -540'],
      [agents[1]?.no, -420, 'at -420'],
    ],
  );
});

test('a degraded monitor that goes down has one incident with the first failure of each state', async (t) => {
  const { runtime, evaluate, at, secondOf } = await watched(t);
  await evaluate([at(-300, 'up')]);
  await evaluate([at(-240, 'degraded'), at(-180, 'degraded')]);
  await evaluate([at(-120, 'down'), at(-60, 'down')]);
  const incidents = await evidenceOf(runtime);
  t.deepEqual(
    incidents.map((rows) => rows.map((row) => [row.verdict, secondOf(row), row.evidence?.answer?.body])),
    [
      [
        ['degraded', -240, 'at -240'],
        ['down', -120, 'at -120'],
      ],
    ],
  );
});

test('a source that was degraded before the incident has the evidence of when it went down', async (t) => {
  const { runtime, agents, evaluate, at, secondOf } = await watched(t, { sources: 2, quorum: 2 });
  await evaluate([at(-600, 'up', 0), at(-600, 'up', 1)]);
  await evaluate([at(-540, 'degraded', 0), at(-480, 'degraded', 0), at(-480, 'up', 1)]);
  await evaluate([at(-130, 'down', 0), at(-130, 'up', 1)]);
  await evaluate([at(-70, 'down', 0)]);
  await evaluate([at(-60, 'down', 1), at(-1, 'down', 1)]);
  const [rows = []] = await evidenceOf(runtime);
  t.deepEqual(
    rows.map((row) => [row.agentNo, secondOf(row), row.evidence?.answer?.body]),
    [
      [agents[0]?.no, -130, 'at -130'],
      [agents[1]?.no, -60, 'at -60'],
    ],
  );
});

test('an incident opened by a sweep has the evidence stored by its sources', async (t) => {
  const { runtime, agents, monitor, evaluate, at } = await watched(t, { sources: 3, quorum: 2 });
  await evaluate([0, 1, 2].map((index) => at(-200, 'up', index)));
  await evaluate([at(-150, 'down', 0), at(-90, 'down', 0), at(-60, 'up', 1), at(-60, 'up', 2)]);
  t.deepEqual(await evidenceOf(runtime), []);
  await runtime.database.pool.query('UPDATE monitors SET down_min_sources = 1, updated_at = $2 WHERE no = $1', [
    monitor.no,
    Math.floor(Date.now() / 1000),
  ]);
  t.is((await sweep(runtime)).transitions, 1);
  const [rows = []] = await evidenceOf(runtime);
  t.deepEqual(
    rows.map((row) => [row.agentNo, row.evidence?.answer?.body]),
    [[agents[0]?.no, 'at -150']],
  );
});

test('resuming a paused monitor clears the stored evidence of its source', async (t) => {
  const { runtime, monitor, nowMs, evaluate, at } = await watched(t);
  await evaluate([at(-180, 'up'), at(-120, 'down')]);
  await pauseMonitor(runtime.database, { tenantId: runtime.tenantId, id: monitor.id, nowMs, author: null });
  await resumeMonitor(runtime.database, { tenantId: runtime.tenantId, id: monitor.id, nowMs, author: null });
  t.deepEqual(await readStoredEvidence(runtime), [null]);
});

test('a failure without timings or response, as of a heartbeat, has an evidence row too', async (t) => {
  const { runtime, evaluate, at } = await watched(t);
  const bare = (second: number) => ({
    ...at(second, 'down'),
    phases: null,
    answer: null,
    cause: 'heartbeat_missed',
    reason: 'No ping came in time',
  });
  await evaluate([at(-180, 'up'), bare(-120)]);
  await evaluate([bare(-60)]);
  const [[evidence] = []] = await evidenceOf(runtime);
  t.like(evidence, { cause: 'heartbeat_missed', reason: 'No ping came in time', evidence: null });
});

test('results queued by an older version, without evidence, are evaluated like any other', async (t) => {
  const { runtime, evaluate, at } = await watched(t);
  const old = ({ phases: _phases, answer: _answer, ...result }: MeasuredResult) => result as MeasuredResult;
  t.is((await evaluate([at(-180, 'up'), at(-120, 'down'), at(-60, 'down')].map(old))).transitions.length, 2);
  t.is((await evidenceOf(runtime))[0]?.[0]?.evidence, null);
});

test('stored results keep their timings as a short text beside the reason', async (t) => {
  const { runtime, evaluate, at } = await watched(t);
  await evaluate([{ ...at(-180, 'up'), phases: TIMINGS }, at(-120, 'up'), at(-60, 'down')]);
  const { rows } = await runtime.database.pool.query<{ detail: unknown }>(
    'SELECT detail FROM check_results ORDER BY due_at',
  );
  const phases = '- 1 - 8 -';
  t.deepEqual(
    rows.map(({ detail }) => detail),
    [{ phases }, null, { reason: 'HTTP 503 instead of 2xx', phases }],
  );
});

test('a storm costs as many statements as a single failure', async (t) => {
  const {
    runtime,
    agents: [agent],
    evaluate,
    nowMs,
  } = await watched(t);
  const monitors = await Promise.all(Array.from({ length: 30 }, () => runtime.addMonitor([agent!])));
  const results = (second: number, verdict: 'up' | 'down', count: number) =>
    monitors.slice(0, count).map((monitor) =>
      resultOf(monitor, agent!, {
        dueAtMs: nowMs + second * SECOND,
        verdict,
        answer: verdict === 'down' ? answerOf('x') : null,
      }),
    );
  await evaluate(results(-180, 'up', 30));
  await evaluate(results(-120, 'down', 30));
  const statements = async (work: () => Promise<unknown>) => {
    const { pool } = runtime.database;
    let count = 0;
    const onConnection = (client: { query: unknown }) => {
      const query = client.query as (...all: unknown[]) => unknown;
      client.query = (...all: unknown[]) => {
        count += 1;
        return query.apply(client, all);
      };
    };
    pool.on('acquire', onConnection);
    await work();
    pool.off('acquire', onConnection);
    return count;
  };
  const one = await statements(() => evaluate(results(-60, 'down', 30).slice(29)));
  const many = await statements(() => evaluate(results(-60, 'down', 29)));
  t.is(many, one);
  t.is((await evidenceOf(runtime)).flat().length, 30);
});
