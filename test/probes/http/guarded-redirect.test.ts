import test from 'ava';
import nock from 'nock';
import { createHttpProbe } from '../../../probes/http.ts';
import { httpTarget } from '../../helpers/check-target.ts';
import { startHttpServer } from '../../helpers/http-server.ts';

// The first hop has to be a public host, which no test can have of its own.
const FIRST = 'http://public.example';
const probe = createHttpProbe({ allowPrivateNetwork: false });

test.before(() => nock.enableNetConnect());
test.after.always(() => nock.restore());

for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f000001', '169.254.169.254']) {
  test.serial(`a redirect from a public host to ${host} is refused, and nothing reaches it`, async (t) => {
    const server = await startHttpServer(t, (_, response) => response.end());
    nock(FIRST)
      .get('/')
      .reply(302, '', { Location: `http://${host}:${server.port}/` });
    t.like(await probe(httpTarget({ target: FIRST })), { outcome: 'failed', cause: 'blocked_target' });
    t.is(server.connections(), 0);
    t.true(nock.isDone());
  });
}
