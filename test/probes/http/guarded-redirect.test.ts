import test from 'ava';
import { createHttpProbe } from '../../../probes/http.ts';
import { httpTarget } from '../../helpers/check-target.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { openPublicHost, PUBLIC_HOST } from '../../helpers/public-host.ts';

const probe = createHttpProbe({ allowPrivateNetwork: false });

for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f000001', '169.254.169.254']) {
  test.serial(`a redirect from a public host to ${host} is refused, and nothing reaches it`, async (t) => {
    const server = await startHttpServer(t, (_, response) => response.end());
    const { redirects, asked } = await openPublicHost(t);
    redirects.set('/', { status: 302, location: `http://${host}:${server.port}/` });
    const observation = await probe(httpTarget({ target: `http://${PUBLIC_HOST}` }));
    t.like(observation, { outcome: 'failed', cause: 'blocked_target' });
    t.is(server.connections(), 0);
    t.deepEqual(asked, ['/']);
  });
}
