import test from 'ava';
import { judgeTcp } from '../../core/transport/judge-tcp.ts';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { createTcpProbe } from '../../probes/tcp.ts';
import { testServers } from '../helpers/test-servers.ts';
import { transportTarget } from '../helpers/transport-target.ts';

const probe = createTcpProbe({ allowPrivateNetwork: true });
const search = createPatternSearch();

// PostgreSQL's SSLRequest, in either encoding; a server without TLS answers it with the single letter N.
const REQUESTS = [
  { payload: String.raw`\x00\x00\x00\x08\x04\xd2\x16\x2f` },
  { payload: '0000000804d2162f', payloadEncoding: 'hex' },
] as const;

for (const request of REQUESTS) {
  test(`a real PostgreSQL understands ${request.payload}`, async (t) => {
    const { host } = new URL(testServers().databaseUrl);
    const up = transportTarget('tcp', { target: host, transport: { ...request, expect: '^[NS]$', expectMode: 'regex' } });
    const observation = await probe(up);
    t.is(judgeTcp({ target: up, observation, search }).verdict, 'up');
    const down = transportTarget('tcp', { target: host, transport: { ...request, expect: 'SSH-' }, timeoutMs: 500 });
    t.is(judgeTcp({ target: down, observation: await probe(down), search }).cause, 'tcp_mismatch');
  });
}
