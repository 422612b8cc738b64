import test from 'ava';
import { createPreviewRun } from '../../../api/monitors/previews.ts';
import type { CheckTarget } from '../../../core/monitors/monitor.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

const SECRET = 'a-secret-that-is-nobodys';

function targetOf(url: string, overrides: Partial<CheckTarget> = {}): CheckTarget {
  return {
    type: 'http',
    target: url,
    // With a short timeout, a stall of the machine could make a check no vote.
    timeoutMs: 30_000,
    method: 'GET',
    expectedStatus: '2xx',
    bodyMatch: null,
    followRedirects: true,
    checkSpec: {},
    secrets: {},
    isShown: true,
    ...overrides,
  };
}

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: a draft is probed once in its region and the caller gets the result; its job is ` +
      'encrypted and deleted',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const web = runtime.open();
      const keys: string[] = [];
      const { port } = await startHttpServer(t, (request, response) => {
        keys.push(String(request.headers['x-key'] ?? ''));
        response.setHeader('Content-Type', 'application/json');
        response.end('{"status":"starting"}');
      });
      const queued: string[] = [];
      const queues = {
        takePreviewReturn: web.queues.takePreviewReturn.bind(web.queues),
        async enqueuePreview(...added: Parameters<typeof web.queues.enqueuePreview>) {
          await web.queues.enqueuePreview(...added);
          queued.push(
            JSON.stringify((await web.queues.checkQueue('local').getJob(`trial-${added[1].trialId}`))?.asJSON()),
          );
        },
      };
      let count = 0;
      const runPreviewOf = createPreviewRun({
        database: web.database,
        queues,
        makePreviewId: () => `${backend.name}-${(count += 1)}`,
        now: Date.now,
      });
      const runPreview = (region: string, target: CheckTarget) =>
        runPreviewOf(region, { tenantId: runtime.tenantId, target });
      // A request made without a worker is completed as soon as one starts.
      const first = runPreview(
        'local',
        targetOf(`http://127.0.0.1:${port}/`, {
          bodyMatch: 'status',
          checkSpec: {
            assertions: [
              { source: 'json_body', op: 'equals', path: '$.status', value: 'ok' },
              { source: 'header', op: 'exists', name: 'X-Nothing' },
            ],
          },
        }),
      );
      const check = await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true });
      t.teardown(() => check.stop());

      const outcome = await first;
      t.like(outcome, {
        verdict: 'down',
        cause: 'assert_json_body_equals',
        httpStatus: 200,
        answer: { status: 200, body: '{"status":"starting"}' },
      });
      t.deepEqual(
        outcome?.conditions.map(({ source, outcome: came }) => [source, came]),
        [
          ['status', 'holds'],
          ['text_body', 'holds'],
          ['json_body', 'differs'],
          ['header', 'missing'],
        ],
      );
      t.true((outcome?.latencyMs ?? -1) >= 0 && outcome?.phases?.connectMs !== null);

      const withSecret = await runPreview(
        'local',
        targetOf(`http://127.0.0.1:${port}/`, {
          checkSpec: { request: { secretHeaderNames: ['X-Key'] } },
          secrets: { secretHeaders: { 'X-Key': SECRET } },
        }),
      );
      t.like(withSecret, { verdict: 'up', answer: { body: null, bodyWithheld: 'secrets' } });
      t.deepEqual(keys, ['', SECRET]);
      // A good response is shown as well, if it cannot contain a secret.
      const good = await runPreview('local', targetOf(`http://127.0.0.1:${port}/`));
      t.like(good, { verdict: 'up', answer: { body: '{"status":"starting"}' } });
      t.like(await runPreview('local', targetOf('http://127.0.0.1:1/')), {
        verdict: 'down',
        cause: 'conn_refused',
        conditions: [{ source: 'status', outcome: 'not_reached' }],
      });

      t.is(queued.length, 4);
      t.false(queued.some((job) => job.includes(SECRET) || job.includes('127.0.0.1') || job.includes('starting')));
      t.is(
        await web.queues.checkQueue('local').getJobCountByTypes('completed', 'failed', 'waiting', 'active', 'delayed'),
        0,
      );
    },
  );
}

test('a preview without a worker times out, and the address guard blocks a private target', async (t) => {
  const runtime = await openTestRuntime(t);
  let hits = 0;
  const { port } = await startHttpServer(t, (_request, response) => {
    hits += 1;
    response.end();
  });
  let ahead = 0;
  const run =
    (name: string, now = Date.now) =>
    (region: string, target: CheckTarget) =>
      createPreviewRun({ database: runtime.database, queues: runtime.queues, makePreviewId: () => name, now })(region, {
        tenantId: runtime.tenantId,
        target,
      });
  const late = await run('late', () => Date.now() - 60_000 + (ahead += 20_000))(
    'local',
    targetOf(`http://127.0.0.1:${port}/`),
  );
  t.is(late, null);
  const check = await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: false });
  t.teardown(() => check.stop());
  t.like(await run('guarded')('local', targetOf(`http://127.0.0.1:${port}/`)), {
    verdict: 'none',
    cause: 'blocked_target',
  });
  t.is(hits, 0);
});
