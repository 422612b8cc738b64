import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { freshnessMs } from '../../core/incidents/quorum.ts';
import { newestOnDiskMs } from '../helpers/agent-program.ts';
import { retrying } from '../helpers/api-client.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { startInstallation, type Installation, type OwnAgent } from '../helpers/own-agent.ts';
import { outputMatching } from '../helpers/program.ts';
import { eventsAt, nextEvent, PATIENTLY } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Receiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

/**
 * Time without a check-in after which an agent is offline, and the limit for reporting it, in milliseconds. A busy
 * machine may add some.
 */
const OFFLINE_AFTER_MS = 90_000;
const OFFLINE_NOTIFIED_MS = 10_000;
const BUSY_MACHINE_MS = 90_000;

/** Length of the service's outage. */
const AWAY_MS = 60_000;

async function create(
  { call }: Installation['service'],
  path: '/channels' | '/monitors',
  body: object,
): Promise<string> {
  const { status, json } = await retrying(call)('POST', path, body);
  if (status !== 201) throw new Error(JSON.stringify(json));
  return String(json['id']);
}

async function createMonitor(
  { service }: Installation,
  agents: readonly OwnAgent[],
  settings: object,
): Promise<string> {
  return await create(service, '/monitors', {
    name: 'Intranet',
    ...PATIENTLY,
    agent_sources: agents.map(({ id }) => id),
    ...settings,
  });
}

async function listenTo(t: ExecutionContext): Promise<{
  receiver: Receiver;
  env: Record<string, string>;
  connect: (installation: Installation) => Promise<void>;
}> {
  const receiver = await startReceiver(t);
  return {
    receiver,
    env: { NODE_EXTRA_CA_CERTS: receiver.caFile },
    async connect({ service }) {
      await create(service, '/channels', { type: 'webhook', url: receiver.url });
    },
  };
}

/** Returns the number of stored results of a monitor. */
async function storedResults({ databaseUrl }: Installation, monitorId: string): Promise<number> {
  return await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query(
      'SELECT count(*)::int AS results FROM single_results r JOIN monitors m ON m.no = r.monitor_no WHERE m.id = $1',
      [monitorId],
    );
    return rows[0].results;
  });
}

/** Reads everything in a folder as text. */
async function contentsOf(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
  );
  return texts.join('\n');
}

test('with one of three locations lying and one cut off only the real outage is reported as down', async (t) => {
  const { receiver, env, connect } = await listenTo(t);
  const installation = await startInstallation(t, env);
  await connect(installation);
  const target = await startTarget(t);
  const honest = await installation.startAgent('honest');
  // The network of this agent leads to an address where nothing listens.
  const lying = await installation.startAgent('lying', {
    distort: (answer) => answer.replaceAll(target.url(), 'http://127.0.0.1:9/'),
  });
  const cut = await installation.startAgent('cut off');
  const id = await createMonitor(installation, [honest, lying, cut], { target: target.url() });
  const statusNow = async () => (await installation.service.call('GET', `/monitors/${id}`)).json['status'];
  await nextEvent(receiver, 'monitor.up');

  cut.proxy.state.isShut = true;
  const offline = await nextEvent(receiver, 'agent.offline', OFFLINE_AFTER_MS + OFFLINE_NOTIFIED_MS + BUSY_MACHINE_MS);
  t.like(offline.json, { monitor: null, state: 'offline', agent: { id: cut.id, name: 'cut off' } });
  const lastSeenMs = Number((offline.json['detail'] as { last_seen_at: number }).last_seen_at) * 1000;
  t.true(offline.atMs >= lastSeenMs + OFFLINE_AFTER_MS, `${offline.atMs - lastSeenMs} ms after the last check-in`);
  t.is(await statusNow(), 'up');
  t.deepEqual(
    eventsAt(receiver).map(({ event }) => event),
    ['monitor.up', 'agent.offline'],
  );

  target.health.status = 503;
  const down = await nextEvent(receiver, 'monitor.down');
  t.like(down.json, {
    detail: { sources_down: ['honest', 'lying'], sources_silent: ['cut off'], sources_total: 3, quorum: 2 },
  });
  target.health.status = 200;
  t.like((await nextEvent(receiver, 'monitor.up')).json, { detail: { previous_state: 'down' } });

  // Results from the outage would vote along with the lying agent if they arrived while recent (D-41).
  const recoveredAtMs = performance.now();
  await until(() => performance.now() - recoveredAtMs > freshnessMs(PATIENTLY.interval_seconds));
  cut.proxy.state.isShut = false;
  t.like((await nextEvent(receiver, 'agent.online')).json, { state: 'online', agent: { id: cut.id } });
  await installation.service.call('DELETE', `/agents/${lying.id}`);
  await until(() => lying.proxy.passages.some(({ status }) => status === 401));
  t.like((await installation.service.call('GET', `/monitors/${id}`)).json, {
    status: 'up',
    agent_sources: [honest.id, cut.id].toSorted(),
    down_min_sources: 2,
  });
  t.deepEqual(
    eventsAt(receiver).map(({ event }) => event),
    ['monitor.up', 'agent.offline', 'monitor.down', 'monitor.up', 'agent.online'],
  );
  for (const { program } of [honest, cut]) t.is(await program.stop(), 0, program.output());
});

test("an agent's results from an outage of the service arrive afterwards, each exactly once", async (t) => {
  const { receiver, env, connect } = await listenTo(t);
  const installation = await startInstallation(t, env);
  await connect(installation);
  const target = await startTarget(t);
  const agent = await installation.startAgent('home-lab');
  const id = await createMonitor(installation, [agent], { target: target.url('/one') });
  const up = await nextEvent(receiver, 'monitor.up');

  await installation.service.program.stop('SIGKILL');
  const killedAtMs = performance.now();
  await until(() => performance.now() - killedAtMs > AWAY_MS / 2, { timeoutMs: AWAY_MS });
  // A slow disk may be behind.
  await until(async () => Date.now() - (await newestOnDiskMs(agent.dataDir)) < 3000);
  await agent.program.stop('SIGKILL');
  agent.program = agent.start();
  await until(() => performance.now() - killedAtMs > AWAY_MS, { timeoutMs: AWAY_MS });
  await installation.restart();
  await agent.proxy.nextPull();
  await outputMatching(agent.program, /replayed/);
  const measured = target.hits('/one');
  await until(async () => (await storedResults(installation, id)) >= measured - 1);

  t.is(await agent.program.stop(), 0, agent.program.output());
  // One result may be lost by the kill, and one by the stop.
  await until(async () => (await storedResults(installation, id)) >= target.hits('/one') - 2);
  t.true((await storedResults(installation, id)) <= target.hits('/one'));
  // A service killed during a delivery may repeat it, under the same id.
  t.deepEqual(
    [...new Set(eventsAt(receiver).map(({ event, json }) => `${event} ${json['delivery_id']}`))],
    [`monitor.up ${up.json['delivery_id']}`],
  );
});

test('an agent uses sealed secrets, which are never in plain text on the wire, its disk or its logs', async (t) => {
  const CANARY = 'canary-secret-header-81d4';
  const { receiver, env, connect } = await listenTo(t);
  const installation = await startInstallation(t, env);
  await connect(installation);
  const target = await startHttpServer(t, (request, response) => {
    response.statusCode = request.headers['x-key'] === CANARY ? 200 : 401;
    response.end(request.headers['x-key']);
  });
  const agent = await installation.startAgent('home-lab', { env: { LOG_LEVEL: 'trace' } });
  await createMonitor(installation, [agent], {
    target: `http://127.0.0.1:${target.port}/`,
    interval_seconds: 1,
    timeout_ms: 999,
    check_spec: { request: { secretHeaders: { 'X-Key': CANARY } } },
  });
  await nextEvent(receiver, 'monitor.up');

  installation.service.program.child.kill('SIGSTOP');
  const probes = target.connections();
  await until(() => target.connections() > probes + 3);
  const exposed = {
    wire: agent.proxy.passages.map(({ body, answer }) => `${body}\n${answer}`).join('\n'),
    disk: await contentsOf(agent.dataDir),
    logs: agent.program.output(),
  };
  installation.service.program.child.kill('SIGCONT');
  t.regex(exposed.wire, /sealedSecrets/);
  for (const [where, text] of Object.entries(exposed)) {
    t.true(text.length > 50, `${where} was read`);
    for (const form of [
      CANARY,
      Buffer.from(CANARY).toString('base64').slice(0, -3),
      Buffer.from(CANARY).toString('hex'),
    ])
      t.false(text.includes(form), `the secret is in ${where}`);
  }
});
