import test, { type ExecutionContext } from 'ava';
import { identifyProcess } from '../../config/processes.ts';
import type { Answer } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startFleet, type Fleet } from '../helpers/fleet.ts';
import { layLink, type Link } from '../helpers/link.ts';
import { listQueueBackends, type QueueBackend } from '../helpers/queue-backend.ts';
import { newPreparedDataDir, postmasterPid, startService } from '../helpers/running-service.ts';
import { nextEvent, watchTarget } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';

/** Time limit for reporting that the database is unavailable, in milliseconds. */
const WORST_MS = 30_000;

/** Starts a fleet whose only path to PostgreSQL is a link. */
async function startOnLink(
  t: ExecutionContext,
  given: { backend: QueueBackend; caFile: string },
): Promise<{ fleet: Fleet; link: Link }> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const link = await layLink(t, databaseUrl);
  const env = { DATABASE_URL: link.url, NODE_EXTRA_CA_CERTS: given.caFile };
  return {
    link,
    fleet: await startFleet(
      t,
      given.backend.redisUrl === null ? env : { ...env, REDIS_URL: `${given.backend.redisUrl}/2` },
    ),
  };
}

async function showsTheAbsence(t: ExecutionContext, { url, call }: Pick<Fleet, 'url' | 'call'>): Promise<void> {
  const answers: Answer[] = await Promise.all([call('GET', '/monitors'), call('POST', '/monitors', { name: 'x' })]);
  for (const { status, json, ms } of answers) {
    t.is(status, 503);
    t.is(json['error'], 'the database is unavailable: try again in a few seconds');
    t.regex(String(json['request_id']), /^req_/);
    t.true(ms < WORST_MS, `${ms}`);
  }
  t.is((await fetch(`${url}/readyz`)).status, 503);
  t.is((await fetch(`${url}/healthz`)).status, 200);
}

for (const backend of listQueueBackends()) {
  test(
    `a fleet with queues in ${backend.name} survives a database that is cut off and then frozen, ` +
      'reports it, and resumes without a restart',
    async (t) => {
      const receiver = await startReceiver(t);
      const target = await startTarget(t);
      const { fleet, link } = await startOnLink(t, { backend, caFile: receiver.caFile });
      let up = nextEvent(receiver, 'monitor.up');
      await watchTarget(fleet.call, { receiver, target: target.url() });

      for (const fault of ['cut', 'stall'] as const) {
        await up;
        await link[fault]();
        await showsTheAbsence(t, fleet);
        target.health.status = 503;
        await link.mend();

        await nextEvent(receiver, 'monitor.down');
        await until(async () => (await fetch(`${fleet.url}/readyz`)).status === 200);
        t.is((await fleet.call('GET', '/monitors')).status, 200);
        for (const program of fleet.programs) t.is(program.child.exitCode, null, program.output());
        up = nextEvent(receiver, 'monitor.up');
        target.health.status = 200;
      }
      await up;
      for (const program of fleet.programs) t.is(await program.stop(), 0, program.output());
    },
  );
}

test('a killed embedded database restarts by itself, and the alert from that time arrives', async (t) => {
  const receiver = await startReceiver(t);
  const target = await startTarget(t);
  const dataDir = await newPreparedDataDir(t);
  const { program, url, call } = await startService(t, { DATA_DIR: dataDir, NODE_EXTRA_CA_CERTS: receiver.caFile });
  const up = nextEvent(receiver, 'monitor.up');
  await watchTarget(call, { receiver, target: target.url() });
  await up;

  const down = nextEvent(receiver, 'monitor.down');
  const killed = await postmasterPid(dataDir);
  target.health.status = 503;
  process.kill(killed, 'SIGKILL');
  // While PostgreSQL starts, the file may be missing or empty.
  await until(async () => ![killed, 0].includes(await postmasterPid(dataDir).catch(() => killed)));
  await until(async () => (await fetch(`${url}/readyz`)).status === 200);
  await down;
  const revived = await postmasterPid(dataDir);
  t.not(revived, killed);
  t.is(await program.stop(), 0, program.output());
  t.is(await identifyProcess(revived), null);
});
