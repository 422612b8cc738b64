import test from 'ava';
import { Refusal } from '../../cli/output.ts';
import { callService } from '../../cli/service-call.ts';
import { hostCommands } from '../helpers/command.ts';
import { startHttpServer } from '../helpers/http-server.ts';

const run = hostCommands(test);

test('maintenance starts even if its tags cannot be looked up', async (t) => {
  const calls: string[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    calls.push(String(request.method));
    if (request.method === 'GET') response.writeHead(503).end('{"error":"try again"}');
    else response.writeHead(201).end('{"id":"mw_1","status":"active"}');
  });
  const started = await run(['maintenance', 'start', '--tag', 'db', '--for', '30m'], {
    SPOTCHECK_URL: `http://127.0.0.1:${port}`,
    SPOTCHECK_TOKEN: 'spk_x',
  });
  t.deepEqual([started.status, started.stderr], [0, '']);
  t.deepEqual(calls, ['POST', 'GET']);
});

test('a service that breaks off in the body of its response does not answer', async (t) => {
  const { port } = await startHttpServer(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': 100 }).write('{', () => response.destroy());
  });
  const origin = `http://127.0.0.1:${port}`;
  const error = await t.throwsAsync(callService({ method: 'DELETE', url: `${origin}/x` }), { instanceOf: Refusal });
  t.true(error?.message.startsWith(`${origin} does not answer: `), error?.message);
});
