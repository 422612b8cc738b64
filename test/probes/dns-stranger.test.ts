import test, { type ExecutionContext } from 'ava';
import { createServer, Packet } from 'dns2';
import { judgeDns } from '../../core/checks/dns/judge.ts';
import type { DnsRecordSpec } from '../../core/monitors/monitor.ts';
import { openDnsProbe } from '../../probes/dns.ts';
import { httpTarget } from '../helpers/check-target.ts';

const { probe, close } = openDnsProbe({ allowPrivateNetwork: true, dnsResolvers: [] });
test.after.always(close);

const { TYPE, CLASS, RCODE } = Packet;
const NAME = 'shop.example';

const ZONE: Readonly<Record<number, readonly object[]>> = {
  [TYPE.A]: [{ address: '192.0.2.1' }, { address: '192.0.2.2' }],
  [TYPE.AAAA]: [{ address: '2001:db8::1' }],
  [TYPE.MX]: [{ priority: 10, exchange: 'mail.shop.example' }],
  [TYPE.TXT]: [{ data: 'v=spf1 -all' }],
};

/** Starts a server of the dns2 package, which has an independent parser and writer. */
async function startStranger(t: ExecutionContext): Promise<string> {
  const server = createServer({
    udp: true,
    handle(request, send) {
      const response = Packet.createResponseFromRequest(request);
      const [question] = request.questions;
      if (question?.name !== NAME) response.header.rcode = RCODE.NXDOMAIN;
      else
        response.answers.push(
          ...(ZONE[question.type] ?? []).map(
            (data) => new Packet.Resource({ name: NAME, type: question.type, class: CLASS.IN, ttl: 60, ...data }),
          ),
        );
      send(response);
    },
  });
  t.teardown(() => server.close());
  const { udp } = await server.listen({ udp: { port: 0, address: '127.0.0.1' } });
  return `127.0.0.1:${udp?.port}`;
}

const CASES: readonly { record: DnsRecordSpec; name?: string; verdict: string; cause: string | null }[] = [
  { record: { type: 'A', mode: 'equals', expected: ['192.0.2.2', '192.0.2.1'] }, verdict: 'up', cause: null },
  { record: { type: 'AAAA', mode: 'any', expected: ['2001:DB8:0::1'] }, verdict: 'up', cause: null },
  { record: { type: 'MX', mode: 'contains', expected: ['10 MAIL.shop.example.'] }, verdict: 'up', cause: null },
  { record: { type: 'TXT', mode: 'equals', expected: ['v=spf1 -all'] }, verdict: 'up', cause: null },
  { record: { type: 'A', mode: 'contains', expected: ['192.0.2.9'] }, verdict: 'down', cause: 'dns_mismatch' },
  { record: { type: 'A', mode: 'exists' }, name: 'gone.example', verdict: 'down', cause: 'dns_nxdomain' },
  { record: { type: 'A', mode: 'absent' }, name: 'gone.example', verdict: 'up', cause: null },
];

for (const { record, name = NAME, verdict, cause } of CASES) {
  test(
    `from a third-party server ${name} ${record.type} ${record.mode} ` +
      `${record.expected?.join(', ') ?? ''} is ${cause ?? verdict}`,
    async (t) => {
      const target = httpTarget({
        type: 'dns',
        target: `dns://${await startStranger(t)}/${name}`,
        method: null,
        expectedStatus: null,
        checkSpec: { dns: { records: [record] } },
      });
      t.like(judgeDns({ target, observation: await probe(target) }), { verdict, cause });
    },
  );
}
