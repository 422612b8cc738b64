import test from 'ava';
import { judgeTcp } from '../../core/checks/transport/observation.ts';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { createTcpProbe } from '../../probes/tcp.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { testServers } from '../helpers/test-servers.ts';
import { transportTarget } from '../helpers/transport-target.ts';

const probe = createTcpProbe({ allowPrivateNetwork: true });
const search = createPatternSearch();

// PostgreSQL's SSLRequest in both encodings; a server without TLS answers with the letter N.
const REQUESTS = [
  { payload: String.raw`\x00\x00\x00\x08\x04\xd2\x16\x2f` },
  { payload: '0000000804d2162f', payloadEncoding: 'hex' },
] as const;

for (const request of REQUESTS) {
  test(`a real PostgreSQL understands ${request.payload}`, async (t) => {
    const { host } = new URL(testServers().databaseUrl);
    const up = transportTarget('tcp', {
      target: host,
      transport: { ...request, expect: '^[NS]$', expectMode: 'regex' },
    });
    const observation = await probe(up);
    t.is(judgeTcp({ target: up, observation, search }).verdict, 'up');
    const down = transportTarget('tcp', { target: host, transport: { ...request, expect: 'SSH-' }, timeoutMs: 8000 });
    t.is(judgeTcp({ target: down, observation: await probe(down), search }).cause, 'tcp_mismatch');
  });
}

// Without an installed Redis the runner reports that.
for (const { redisUrl } of listQueueBackends().filter((backend) => backend.redisUrl !== null)) {
  test('a real Redis responds to PING with +PONG and not with -ERR', async (t) => {
    const { host } = new URL(redisUrl ?? '');
    const verdictFor = async (expect: string) => {
      const target = transportTarget('tcp', {
        target: host,
        transport: { payload: String.raw`PING\r\n`, expect },
        timeoutMs: 8000,
      });
      return judgeTcp({ target, observation: await probe(target), search });
    };
    t.is((await verdictFor('+PONG')).verdict, 'up');
    t.is((await verdictFor('-ERR')).cause, 'tcp_mismatch');
  });
}
