import test from 'ava';
import type { AnswerEvidence } from '../../../core/incidents/evidence.ts';
import { openAnswers, sealAnswers } from '../../../models/checks/sealed-jobs.ts';
import { listIncidents } from '../../../models/incidents/history.ts';
import { listEvidence } from '../../../models/incidents/incidents.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const BODY = 'what only the owner of the monitor may read';
const ANSWER: AnswerEvidence = { status: 503, headers: { server: 'nginx' }, body: BODY };
const RESULT = { monitorNo: 7, agentNo: 3, dueAtMs: 1_763_720_000_000, answer: ANSWER };

for (const backend of listQueueBackends()) {
  test(`${backend.name}: a failing check's response is sealed in the queue and stored with the incident`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const { database, queues, tenantId } = runtime;
    const target = await startHttpServer(t, (_request, response) => void response.writeHead(503).end(BODY));
    const agent = await runtime.addAgent('local');
    const url = `http://127.0.0.1:${target.port}/`;
    await runtime.addMonitor([agent], { target: url, intervalSeconds: 1, timeoutMs: 30_000 });
    const check = await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true });
    t.teardown(check.stop);
    const regions = await runtime.listRegions();
    for (const change of runtime.scheduleChanges) await queues.applyScheduleChange(change, regions);

    const queue = queues.all().find(({ name }) => name === 'evaluate');
    const jobs = await until(async () => {
      const waiting = (await queue?.getJobs(['waiting'])) ?? [];
      return waiting.length > 0 && waiting;
    });
    const said = JSON.stringify(jobs.map(({ data }) => data));
    t.regex(said, /"verdict":"down"/);
    t.regex(said, /"sealedAnswer":"v1\./);
    t.notRegex(said, new RegExp(BODY));

    const evaluate = await startEvaluate(runtime);
    t.teardown(evaluate.stop);
    const [incident] = await until(async () => {
      const incidents = await listIncidents(database, { tenantId, limit: 1 });
      return incidents.length > 0 && incidents;
    });
    const [evidence] = await listEvidence(database, incident?.id ?? '');
    t.is(evidence?.evidence?.answer?.body, BODY);
  });
}

test('a sealed response moved to another result is dropped and reported, and the result counts', async (t) => {
  const { database } = await openTestRuntime(t);
  const [sealed, empty] = sealAnswers(database, [RESULT, { ...RESULT, answer: null }]);
  t.deepEqual(empty, { ...RESULT, answer: null });
  const unopened: number[] = [];
  const open = (results: Parameters<typeof openAnswers<typeof RESULT>>[1]) =>
    openAnswers(database, results, (_error, { monitorNo }) => void unopened.push(monitorNo));
  const queued = sealed as unknown as typeof RESULT & { sealedAnswer: string };
  t.deepEqual(open([queued]), [RESULT]);
  t.deepEqual(open([RESULT]), [RESULT], 'a job of an older version is not sealed');
  t.deepEqual(unopened, []);
  const moved = { ...queued, monitorNo: 8 };
  t.like(open([moved])[0], { monitorNo: 8, answer: null });
  t.deepEqual(unopened, [8]);
});
