import test from 'ava';
import { Refusal } from '../../cli/output.ts';
import { callService } from '../../cli/service-call.ts';
import { startHttpServer } from '../helpers/http-server.ts';

test('a service that breaks off in the body of its response does not answer', async (t) => {
  const { port } = await startHttpServer(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': 100 }).write('{', () => response.destroy());
  });
  const origin = `http://127.0.0.1:${port}`;
  const error = await t.throwsAsync(callService({ method: 'DELETE', url: `${origin}/x` }), { instanceOf: Refusal });
  t.true(error?.message.startsWith(`${origin} does not answer: `), error?.message);
});
