import dgram from 'node:dgram';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { retrying, pingTokenOf, type ApiClient } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startDnsServer } from '../helpers/dns-server.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { OWN_HOST } from '../helpers/listener.ts';
import { rdapDomain, startRdapServer, startWhoisServer } from '../helpers/registry.ts';
import { startService } from '../helpers/running-service.ts';
import { startStatusPage } from '../helpers/status-page.ts';
import { eventsAt, PATIENTLY } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

/** A target: the settings of its monitor, and functions that break and fix it. */
type Watched = {
  create: object;
  cause: string;
  breakIt: (id: string) => Promise<unknown> | unknown;
  mend: (id: string) => Promise<unknown> | unknown;
};

/** Time within which a busy machine notices a change, in milliseconds. */
const SEEN_WITHIN_MS = 120_000;

async function watchHttp(t: ExecutionContext): Promise<Watched> {
  const { url, health } = await startTarget(t);
  return {
    create: { type: 'http', target: url() },
    cause: 'status_500',
    breakIt: () => (health.status = 500),
    mend: () => (health.status = 200),
  };
}

/** Watches a server that sends a greeting in two pieces, like a mail server. */
async function watchTcp(t: ExecutionContext): Promise<Watched> {
  const open = new Set<Socket>();
  const server = net.createServer((socket) => {
    open.add(socket.on('error', () => {}));
    socket.write('220 mail.exa');
    setImmediate(() => socket.end('mple.test ESMTP\r\n'));
  });
  const listen = async (port: number) => void (await once(server.listen(port, OWN_HOST), 'listening'));
  const close = () => {
    for (const socket of open) socket.destroy();
    server.close();
  };
  await listen(0);
  t.teardown(close);
  const { port } = server.address() as AddressInfo;
  const create = {
    type: 'tcp',
    target: `${OWN_HOST}:${port}`,
    check_spec: { transport: { expect: '220 mail.example.test' } },
  };
  return { create, cause: 'conn_refused', breakIt: close, mend: () => listen(port) };
}

async function watchUdp(t: ExecutionContext): Promise<Watched> {
  const socket = dgram.createSocket('udp4');
  let prefix: string | null = 'pong ';
  socket.on(
    'message',
    (message, from) => prefix !== null && socket.send(`${prefix}${message.toString('utf8')}`, from.port, from.address),
  );
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  const create = {
    type: 'udp',
    target: `127.0.0.1:${socket.address().port}`,
    check_spec: { transport: { payload: String.raw`\x70ing`, expect: '^pong ping$', expectMode: 'regex' } },
  };
  return { create, cause: 'udp_no_reply', breakIt: () => (prefix = null), mend: () => (prefix = 'pong ') };
}

/**
 * Watches this machine by ICMP echo, which cannot be stopped. To break the monitor, its owner points it at an address
 * that never replies as itself.
 */
function watchIcmp(call: ApiClient): Watched {
  const pointAt = (target: string) => (id: string) => retrying(call)('PATCH', `/monitors/${id}`, { target });
  return {
    create: { type: 'icmp', target: '127.0.0.1', timeout_ms: 400, check_spec: { ping: { count: 2 } } },
    cause: 'icmp_timeout',
    breakIt: pointAt('0.0.0.0'),
    mend: pointAt('127.0.0.1'),
  };
}

async function watchDns(t: ExecutionContext): Promise<Watched> {
  const reply = { answers: [{ type: 'A' as const, name: 'shop.example', data: '192.0.2.10' }] };
  const { address, zone } = await startDnsServer(t, { 'A shop.example': reply });
  const create = {
    type: 'dns',
    target: `dns://${address}/shop.example`,
    check_spec: { dns: { records: [{ type: 'A', mode: 'contains', expected: ['192.0.2.10'] }] } },
  };
  return {
    create,
    cause: 'dns_nxdomain',
    breakIt: () => zone.delete('A shop.example'),
    mend: () => zone.set('A shop.example', reply),
  };
}

/**
 * Watches a registry found through the IANA bootstrap file. Registration data is cached for a day, which the test
 * skips.
 */
async function watchDomain(t: ExecutionContext, databaseUrl: string) {
  let expiry = '2099-01-01T00:00:00Z';
  const registry = await startRdapServer(t, (_request, response) =>
    response.writeHead(200, { 'Content-Type': 'application/rdap+json' }).end(rdapDomain('shop.com', expiry)),
  );
  const bootstrap = await startHttpServer(t, (_request, response) =>
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(
        JSON.stringify({ version: '1.0', publication: '2026-11-01T00:00:00Z', services: [[['com'], [registry.base]]] }),
      ),
  );
  const letADayPass = () => withClient(databaseUrl, (client) => client.query('DELETE FROM domains'));
  const publish = (date: string) => () => {
    expiry = date;
    return letADayPass();
  };
  const watched: Watched = {
    create: { type: 'domain', target: 'www.shop.com' },
    cause: 'domain_expired',
    breakIt: publish('2020-01-01T00:00:00Z'),
    mend: publish('2099-01-01T00:00:00Z'),
  };
  return { watched, bootstrapUrl: `http://127.0.0.1:${bootstrap.port}/dns.json` };
}

async function watchVendor(t: ExecutionContext): Promise<Watched> {
  const { url, page } = await startStatusPage(t);
  const [api] = page.components;
  const show = (status: string) => () => {
    if (api !== undefined) api.status = status;
  };
  return {
    create: { type: 'vendor', target: url, components: ['API'] },
    cause: 'vendor_down',
    breakIt: show('major_outage'),
    mend: show('operational'),
  };
}

function watchHeartbeat(call: ApiClient, url: string): Watched {
  const ping = (suffix: string) => async (id: string) => {
    const token = pingTokenOf(await call('GET', `/monitors/${id}`));
    return await until(async () => (await fetch(`${url}/ping/${token}${suffix}`, { method: 'POST' })).status !== 503);
  };
  return {
    create: { type: 'heartbeat', interval_seconds: 3600, grace_seconds: 60, down_after_failures: 1 },
    cause: 'heartbeat_failed',
    breakIt: ping('/3'),
    mend: ping(''),
  };
}

test('monitors of all types go up, down with a cause when the target fails, and up after its recovery', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const receiver = await startReceiver(t);
  const whois = await startWhoisServer(t, () => 'No match for domain\r\n');
  const { watched: domain, bootstrapUrl } = await watchDomain(t, databaseUrl);
  const { url, call } = await startService(
    t,
    {
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
      BOOTSTRAP_TOKEN: TOKEN,
      ALLOW_PRIVATE_NETWORK: 'true',
      PLAN_COUNT_LIMITS: 'false',
      RDAP_BOOTSTRAP_URL: bootstrapUrl,
      WHOIS_SERVER: `${whois.host}:${whois.port}`,
      NODE_EXTRA_CA_CERTS: receiver.caFile,
    },
    TOKEN,
  );
  t.is((await call('POST', '/channels', { type: 'webhook', url: receiver.url })).status, 201);

  const watched: Watched[] = [
    await watchHttp(t),
    await watchTcp(t),
    await watchUdp(t),
    watchIcmp(call),
    await watchDns(t),
    domain,
    await watchVendor(t),
    watchHeartbeat(call, url),
  ];
  await Promise.all(
    watched.map(async ({ create, cause, breakIt, mend }) => {
      const { type } = create as { type: string };
      // A stall also makes the service answer that it is to be tried again.
      const created = await until(async () => {
        const answer = await call('POST', '/monitors', { name: `The ${type}`, ...PATIENTLY, ...create });
        return !String(answer.json['error']).includes('try again') && answer;
      });
      t.is(created.status, 201, `${type}: ${JSON.stringify(created.json)}`);
      const id = created.json['id'];
      // An event that this process received without responding in time arrives again.
      const events = () =>
        [...new Map(eventsAt(receiver).map(({ json }) => [json['delivery_id'], json])).values()].filter(
          ({ event, monitor }) => (monitor as { id: string }).id === id && !String(event).startsWith('advisory.'),
        );
      let handled = 0;
      // A stalled process reports no vote, and then the previous state again; no other event may come first.
      const awaitState = async (state: string, before: string) => {
        const at = await until(
          () => events().findIndex((event, index) => index >= handled && event['state'] === state) + 1,
          { timeoutMs: SEEN_WITHIN_MS },
        );
        const others = events().slice(handled, at - 1);
        t.true(
          others.every((event) => event['state'] === 'unknown' || event['state'] === before),
          `${type}: ${JSON.stringify(others)}`,
        );
        handled = at;
        return events()[at - 1];
      };

      if (type === 'heartbeat') await mend(id);
      await awaitState('up', 'pending');
      await breakIt(id);
      t.like((await awaitState('down', 'up'))?.['detail'], { cause }, type);
      t.is((await call('GET', `/monitors/${id}`)).json['status'], 'down', type);
      await mend(id);
      t.is((await awaitState('up', 'down'))?.['event'], 'monitor.up', type);
      t.is(events().filter(({ state }) => state === 'down').length, 1, type);
      const incidents = (await call('GET', `/monitors/${id}/incidents`)).json['incidents'];
      t.like(incidents, [{ status: 'resolved', resolution: 'recovered' }], type);
    }),
  );
});

const TOKEN = 'spk_every-monitor-type-goes-down-and-up';
