import test from 'ava';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { openAgentProbe } from '../../probes/probe.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { judgeObservation } from '../helpers/judge.ts';

const { probe, close } = openAgentProbe({ allowPrivateNetwork: true });
const search = createPatternSearch();

test.after.always(close);

test('an http target is probed and judged as http', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.writeHead(503).end());
  const target = httpTarget({ target: `http://127.0.0.1:${port}/` });
  const judgement = judgeObservation({ target, observation: await probe(target), search });
  t.deepEqual(judgement, { verdict: 'down', cause: 'status_503', reason: 'HTTP 503 instead of 2xx' });
});

test('a type without a probe is no vote', async (t) => {
  const target = httpTarget({ target: '', type: 'heartbeat' });
  const judgement = judgeObservation({ target, observation: await probe(target), search });
  t.like(judgement, { verdict: 'none', cause: 'unsupported' });
});
