import { createHash } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import packageJson from '../../package.json' with { type: 'json' };
import { newestOnDiskMs, startAgentFixture } from '../helpers/agent-program.ts';
import { workItem, type AgentServer } from '../helpers/agent-server.ts';
import { TestAuthority } from '../helpers/certificates.ts';
import { runCommand } from '../helpers/command.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { startListener } from '../helpers/listener.ts';
import { outputMatching, type Program } from '../helpers/program.ts';
import { sealFor } from '../helpers/sealed-box.ts';
import { startTarget } from '../helpers/target.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { until } from '../helpers/until.ts';

/** Delay of a recheck, in milliseconds: the hint arrives before its time even if the machine stands still for 15 s. */
const RECHECK_MS = 20_000;

/** Child processes are slow on a busy machine. */
const PATIENT = { timeoutMs: 120_000 };

const run = (args: string[], env: Record<string, string> = {}) =>
  runCommand([process.execPath, 'agent/main.ts', ...args], env);

const segments = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.startsWith('results-'));

async function textsBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
  );
  return texts.join('\n');
}

/** Asserts that each accepted result arrived once: no monitor and time occur twice. */
function assertOnce(t: ExecutionContext, { taken }: AgentServer): void {
  const keys = taken().map(({ monitorId, ts }) => `${String(monitorId)} ${String(ts)}`);
  t.is(new Set(keys).size, keys.length);
}

/** Returns the capabilities that the agent reported. */
function capabilitiesOf({ pulls }: AgentServer): unknown[] {
  const capabilities = pulls[0]?.body['capabilities'];
  return Array.isArray(capabilities) ? capabilities : [];
}

function logged(program: Program, message: string): Record<string, unknown>[] {
  return program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === message);
}

test('--help lists all variables, --version prints the version, and any other option is a usage error', async (t) => {
  const help = await run(['--help']);
  t.is(help.status, 0);
  const environment = await readFile(new URL('../../config/agent-environment.ts', import.meta.url), 'utf8');
  for (const [, name = ''] of environment.matchAll(/^ {2}([A-Z][A-Z_]+): /gm)) t.true(help.stdout.includes(name), name);
  t.deepEqual(await run(['--version']), { status: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  const wrong = await run(['--verbose']);
  t.is(wrong.status, 2);
  t.regex(wrong.stderr, /--verbose[\s\S]*Usage:/);
  t.is(wrong.stdout, '');
});

test('all configuration errors are reported together, without the token, and the agent exits with 1', async (t) => {
  const { status, stderr } = await run([], {
    SPOTCHECK_AGENT_TOKEN: 'spk_wrong-kind',
    AGENT_PULL_SECONDS: '0',
    AGENT_CONCURRENCY: 'many',
  });
  t.is(status, 1);
  for (const name of ['SPOTCHECK_URL', 'SPOTCHECK_AGENT_TOKEN', 'AGENT_PULL_SECONDS', 'AGENT_CONCURRENCY'])
    t.true(stderr.includes(name), name);
  t.false(stderr.includes('wrong-kind'));
});

test('it checks in, runs its work, follows changes, sends the rest on SIGTERM and exits with 0', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const [first, second] = [await startTarget(t), await startTarget(t)];
  second.health.status = 201;
  server.state.work = [workItem({ target: first.url(), intervalSeconds: 1 })];
  const program = await fixture.startConnected();
  t.like(server.pulls[0]?.body, { version: packageJson.version, arch: process.arch });
  for (const capability of ['http', 'cert', 'tcp', 'udp']) t.true(capabilitiesOf(server).includes(capability));
  t.is(Buffer.from(String(server.pulls[0]?.body['publicKey']), 'base64').length, 32);

  await until(() => server.taken().length >= 2, PATIENT);
  t.like(server.taken()[0], { monitorId: 'mon_1', ok: true, cause: null, httpStatus: 200 });
  const ageSeconds = Date.now() / 1000 - Number(server.taken()[0]?.['ts']);
  t.true(ageSeconds >= 0 && ageSeconds < 60, `${ageSeconds} s old`);

  await server.give([workItem({ target: second.url(), intervalSeconds: 1 })]);
  await second.nextHit('/', PATIENT.timeoutMs);
  const hits = first.hits();
  await until(() => second.hits() >= 3, PATIENT);
  t.is(first.hits(), hits);

  second.health.status = 500;
  await until(
    () =>
      server
        .taken()
        .some(
          ({ ok, cause, reason }) => ok === false && cause === 'status_500' && reason === 'HTTP 500 instead of 2xx',
        ),
    PATIENT,
  );

  t.is(await program.stop(), 0);
  const ofFirst = server.taken().filter(({ httpStatus }) => httpStatus === 200).length;
  t.is(server.taken().length - ofFirst, second.hits());
  // The result of a probe that runs while the work changes is dropped.
  t.true(ofFirst === hits || ofFirst === hits - 1, `${ofFirst} results of ${hits}`);
  assertOnce(t, server);
  t.is(logged(program, 'agent.summary').length, 1);
  t.deepEqual(await segments(fixture.folder), []);
});

test('its folder and the files in it are readable only by its owner', async (t) => {
  const fixture = await startAgentFixture(t);
  fixture.server.state.work = [workItem()];
  const program = await fixture.startConnected();
  t.is((await stat(fixture.folder)).mode & 0o777, 0o700);
  await until(async () => (await readdir(fixture.folder)).includes('work.json'));
  for (const name of ['key.json', 'lock.json', 'work.json'])
    t.is((await stat(join(fixture.folder, name))).mode & 0o777, 0o600, name);
  t.is(await program.stop('SIGINT'), 0);
  t.false((await readdir(fixture.folder)).includes('lock.json'));
});

test('it keeps checking while the service is down, and every result arrives later, once and in order', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const target = await startTarget(t);
  server.state.work = [workItem({ target: target.url('/a'), intervalSeconds: 1 })];
  const program = await fixture.startConnected();
  await until(() => server.taken().length > 0, PATIENT);
  server.state.isCut = true;
  const hits = target.hits('/a');
  await until(() => target.hits('/a') >= hits + 6, PATIENT);
  await until(async () => (await segments(fixture.folder)).length > 0);
  server.state.isCut = false;
  await outputMatching(program, /results\.replayed/, 90_000);
  // Check-ins have failed as well, and recover without help.
  await outputMatching(program, /service\.back/);
  t.is(await program.stop(), 0);
  t.is(server.taken().length, target.hits('/a'));
  const moments = server.taken().map(({ ts }) => Number(ts));
  t.deepEqual(
    moments,
    moments.toSorted((a, b) => a - b),
  );
  assertOnce(t, server);
  t.is(logged(program, 'service.away').length, 1);
  t.is(logged(program, 'service.back').length, 1);
  t.deepEqual(await segments(fixture.folder), []);
});

test('killed while the service is down, it resumes after a restart and loses at most two results', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const target = await startTarget(t);
  server.state.work = [workItem({ target: target.url('/a'), intervalSeconds: 1 })];
  const first = await fixture.startConnected();
  await until(() => server.taken().length > 0, PATIENT);
  server.state.isCut = true;
  const hits = target.hits('/a');
  await until(() => target.hits('/a') >= hits + 4, PATIENT);
  // A slow disk may be behind.
  await until(async () => Date.now() - (await newestOnDiskMs(fixture.folder)) < 1500, PATIENT);
  t.is(await first.stop('SIGKILL'), null);

  const second = fixture.start();
  await outputMatching(second, /work\.restored/);
  const hitsBefore = target.hits('/a');
  await until(() => target.hits('/a') >= hitsBefore + 2, PATIENT);
  server.state.isCut = false;
  await outputMatching(second, /results\.replayed/, 90_000);
  t.is(await second.stop(), 0);
  // The results of the killed process's last second may be lost.
  const missing = target.hits('/a') - server.taken().length;
  t.true(missing >= 0 && missing <= 2, `${missing} results are missing`);
  assertOnce(t, server);
  t.is(logged(second, 'buffer.found').length, 1);
});

test('a second agent with the same token is refused while the first runs, and starts once it was killed', async (t) => {
  const fixture = await startAgentFixture(t);
  const first = await fixture.startConnected();
  const second = fixture.start();
  t.is(await second.exited, 1);
  t.regex(second.errors(), new RegExp(`process ${first.child.pid}`));
  await first.stop('SIGKILL');
  t.is(await (await fixture.startConnected()).stop(), 0);
});

test('a token rejected at the first check-in makes the agent exit with 1 and a reason', async (t) => {
  const fixture = await startAgentFixture(t);
  fixture.server.state.pull = { status: 401 };
  const program = fixture.start();
  t.is(await program.exited, 1);
  t.regex(program.errors(), /rejected this token/);
});

test('a token revoked later stops all checks at once and deletes saved work; the agent keeps running', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const target = await startTarget(t);
  server.state.work = [workItem({ target: target.url('/a'), intervalSeconds: 1 })];
  const program = await fixture.startConnected();
  await until(() => server.taken().length > 0, PATIENT);
  server.state.pull = { status: 401 };
  server.state.ingest = { status: 401 };
  await outputMatching(program, /token\.refused/);
  const hits = target.hits('/a');
  const pulls = server.pulls.length;
  t.false((await readdir(fixture.folder)).includes('work.json'));
  await until(() => Date.now() / 1000 > Number(logTimeOf(program, 'token.refused')) + 3, PATIENT);
  t.true(target.hits('/a') <= hits + 1);
  // A request in flight when the token was refused may be answered after it.
  t.true(server.pulls.length <= pulls + 1);
  t.is(await program.stop(), 0);
});

function logTimeOf(program: Program, message: string): number {
  return Date.parse(String(logged(program, message)[0]?.['time'])) / 1000;
}

test('a probe uses sealed secrets, never in plain text, and a traceparent derived from its result', async (t) => {
  const CANARY = 'canary-7f3a-secret';
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const keys: (string | undefined)[] = [];
  const traceparents: (string | undefined)[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    keys.push(request.headers['x-key'] as string | undefined);
    traceparents.push(request.headers['traceparent'] as string | undefined);
    response.statusCode = 500;
    response.end(CANARY);
  });
  const program = await fixture.startConnected({ LOG_LEVEL: 'trace' });
  const sealedSecrets = await sealFor(String(server.pulls[0]?.body['publicKey']), {
    secretHeaders: { 'X-Key': CANARY },
  });
  await server.give([
    workItem({
      target: `http://127.0.0.1:${port}/`,
      intervalSeconds: 1,
      checkSpec: { request: { secretHeaderNames: ['X-Key'], traceparent: true } },
      sealedSecrets,
    }),
  ]);
  await until(() => server.taken().length > 0, PATIENT);
  t.is(keys[0], CANARY);
  const startedAtMs = Math.round(Number(server.taken()[0]?.['ts']) * 1000);
  const digest = createHash('sha256').update(`mon_1 agt_1 ${startedAtMs}`).digest('hex');
  t.is(traceparents[0], `00-${digest.slice(0, 32)}-${digest.slice(32, 48)}-01`);
  server.state.isCut = true;
  await until(async () => (await segments(fixture.folder)).length > 0, PATIENT);
  const disk = await textsBelow(fixture.folder);
  t.true(disk.includes(sealedSecrets));
  for (const form of [
    CANARY,
    Buffer.from(CANARY).toString('base64').slice(0, -3),
    Buffer.from(CANARY).toString('hex'),
  ]) {
    for (const text of [disk, program.output(), JSON.stringify(server.ingests)]) t.false(text.includes(form));
  }
});

test('work that the agent cannot check is reported as no vote and not probed', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const target = await startTarget(t);
  server.state.work = [
    workItem({ monitorId: 'mon_key', target: target.url(), secretsWithheld: 'other_key' }),
    workItem({ monitorId: 'mon_box', target: target.url(), sealedSecrets: 'AAAA' }),
    workItem({ monitorId: 'mon_type', target: target.url(), type: 'quic' }),
  ];
  const program = await fixture.startConnected();
  await until(() => server.taken().length >= 3, PATIENT);
  for (const result of server.taken()) t.like(result, { ok: false, cause: 'unsupported_by_agent', latencyMs: null });
  t.is(target.hits(), 0);
  t.is(logged(program, 'key.refused').length, 1);
});

test('a recheck hint causes exactly one more probe, after the requested delay', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const target = await startTarget(t);
  target.health.status = 500;
  let hinted = 0;
  // A hint that arrives after its time is skipped.
  server.state.recheck = () => (hinted++ === 0 ? RECHECK_MS : null);
  server.state.work = [workItem({ target: target.url('/a'), intervalSeconds: 86_400 })];
  await fixture.startConnected();
  await until(() => server.taken().length === 2, PATIENT);
  const [first, second] = server.taken().map(({ ts }) => Number(ts) * 1000);
  const afterMs = (second ?? 0) - (first ?? 0);
  // The next tick is most likely hours away.
  t.true(afterMs >= RECHECK_MS, `${afterMs} ms after the first`);
  t.is(target.hits('/a'), 2);
  // The service has no use for the response of a failure that continues.
  t.deepEqual(
    server.taken().map(({ detail }) => Object.hasOwn(detail as object, 'answer')),
    [true, false],
  );
});

test('all four types are measured, icmp only where the machine supports it', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const target = await startTarget(t);
  const { host } = new URL(target.url());
  server.state.work = [
    workItem({
      monitorId: 'mon_http',
      target: target.url(),
      checkSpec: { assertions: [{ source: 'text_body', op: 'contains', value: 'ok' }] },
    }),
    workItem({ monitorId: 'mon_tcp', type: 'tcp', target: host, method: null, expectedStatus: null }),
    workItem({
      monitorId: 'mon_udp',
      type: 'udp',
      target: '127.0.0.1:9',
      intervalSeconds: 1,
      method: null,
      expectedStatus: null,
      timeoutMs: 500,
      checkSpec: { transport: { payload: 'a\\n', payloadEncoding: 'utf8' } },
    }),
    workItem({
      monitorId: 'mon_icmp',
      type: 'icmp',
      target: '127.0.0.1',
      method: null,
      expectedStatus: null,
      checkSpec: { ping: { count: 1 } },
    }),
  ];
  await fixture.startConnected();
  const resultOf = (monitorId: string) =>
    until(() => server.taken().find((result) => result['monitorId'] === monitorId), PATIENT);
  t.like(await resultOf('mon_http'), { ok: true });
  t.like(await resultOf('mon_tcp'), { ok: true });
  // On a busy machine the first results may be no votes, because the agent itself stalled during so short a check.
  await until(
    () => server.taken().some((result) => result['monitorId'] === 'mon_udp' && result['cause'] === 'udp_no_reply'),
    PATIENT,
  );
  t.true(
    server
      .taken()
      .filter((result) => result['monitorId'] === 'mon_udp')
      .every((result) => result['ok'] === false),
  );
  const hasEcho = capabilitiesOf(server).includes('icmp');
  t.like(
    await resultOf('mon_icmp'),
    hasEcho ? { ok: true, detail: { ping: { sent: 1, received: 1 } } } : { ok: false, cause: 'unsupported_by_agent' },
  );
});

test("a clock that differs from the service's is reported once, with the difference", async (t) => {
  const fixture = await startAgentFixture(t);
  fixture.server.state.time = String(Math.floor(Date.now() / 1000) + 36_000);
  const program = await fixture.startConnected();
  await fixture.server.give([workItem()]);
  await fixture.server.give([]);
  const warnings = logged(program, 'clock.wrong');
  t.is(warnings.length, 1);
  t.true(Math.abs(Number(warnings[0]?.['ahead_seconds']) + 36_000) < 300, JSON.stringify(warnings));
});

test('a certificate that is not valid yet is no vote while the clock is wrong, and then a failure', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const authority = await TestAuthority.create();
  const trusted = join(await temporaryFolder(t), 'authority.pem');
  await writeFile(trusted, authority.pem);
  const keys = await authority.issue({ hosts: ['127.0.0.1'], validFromDays: 2 });
  const { port } = await startHttpServer(t, (_, response) => response.end(), keys);
  server.state.time = String(Math.floor(Date.now() / 1000) + 3600);
  server.state.work = [workItem({ target: `https://127.0.0.1:${port}/`, intervalSeconds: 1 })];
  await fixture.startConnected({ NODE_EXTRA_CA_CERTS: trusted });
  await until(() => server.taken().length > 0, PATIENT);
  t.like(server.taken()[0], { ok: false, cause: 'unsupported_by_agent' });
  t.regex(String(server.taken()[0]?.['reason']), /clock of the checking machine/);
  server.state.time = null;
  await until(() => server.taken().some(({ cause }) => cause === 'tls_error'), PATIENT);
});

test('while its own network is down failures are no votes; once a reference host responds they count', async (t) => {
  const fixture = await startAgentFixture(t);
  const { server } = fixture;
  const reference = await startListener(t);
  await reference.close();
  server.state.work = [workItem({ target: 'http://127.0.0.1:9/', intervalSeconds: 1 })];
  const program = await fixture.startConnected({ SELF_CHECK_HOSTS: `${reference.host}:${reference.port}` });
  await until(() => server.taken().length >= 2, PATIENT);
  for (const result of server.taken().slice(0, 2)) t.like(result, { ok: false, cause: 'unsupported_by_agent' });
  t.is(logged(program, 'self_check.failed').length, 1);
  await reference.open();
  await until(() => server.taken().some(({ cause }) => cause === 'conn_refused'), PATIENT);
});
