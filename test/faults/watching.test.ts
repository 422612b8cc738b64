import test from 'ava';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { findKeptPort } from '../../tools/kept-port.ts';
import { runSpotcheck } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startFleet, type Fleet } from '../helpers/fleet.ts';
import { createHarness } from '../helpers/harness.ts';
import { newPreparedDataDir, startService, type Service } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

/** The parts of a turn, each of which is to be missed. */
const PARTS = Object.keys(FLEET).filter((name): name is ProcessName => name !== 'release');

/** The shortest rhythm: heartbeats are missed 15 s after the last ping. */
const WATCH_SECONDS = '5';

/** A busy machine takes its time; whether anything is reported at all is tested. */
const WAIT = { timeoutMs: 240_000, intervalMs: 250 };

type Environment = Record<'PORT' | 'PUBLIC_URL' | 'WATCH_SECONDS', string>;

/** Two installations and their environments; the monitors by which each watches the other one. */
type Pair = {
  fleet: Fleet;
  ofFleet: Environment & { DATABASE_URL: string; SECRET_KEYS: string };
  other: Service;
  ofOther: Environment & { DATA_DIR: string };
  fleetId: string;
  otherId: string;
};

const { harness, close } = createHarness();
let pair: Pair;

async function environmentOf(): Promise<Environment> {
  const port = await findKeptPort();
  return { PORT: String(port), PUBLIC_URL: `http://localhost:${port}`, WATCH_SECONDS };
}

/** What a command prints under --json. */
async function jsonOf(args: readonly string[], env: Record<string, string>) {
  const { status, stdout, stderr } = await runSpotcheck([...args, '--json'], env);
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

test.before(async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  harness.teardown(drop);
  const SECRET_KEYS = `k1:${Buffer.alloc(32, 1).toString('base64')}`;
  const ofFleet = { ...(await environmentOf()), DATABASE_URL: databaseUrl, SECRET_KEYS };
  const ofOther = { ...(await environmentOf()), DATA_DIR: await newPreparedDataDir(harness) };
  const fleet = await startFleet(harness, ofFleet);
  const other = await startService(harness, ofOther);
  pair = { fleet, ofFleet, other, ofOther, fleetId: '', otherId: '' };
});

test.after.always(close);

/** Waits until the heartbeat of the fleet, or of the other installation, has this status. */
async function reported(whose: 'fleet' | 'other', status: 'up' | 'down'): Promise<boolean> {
  const { fleet, other, fleetId, otherId } = pair;
  const [call, id] = whose === 'fleet' ? [other.call, fleetId] : [fleet.call, otherId];
  return await until(async () => (await call('GET', `/monitors/${id}`)).json['status'] === status, WAIT);
}

test.serial('two installations join by one command, and each is pinged by the other', async (t) => {
  const { ofFleet, ofOther } = pair;
  const { invitation } = await jsonOf(['watch', 'invite'], ofOther);
  const joined = await jsonOf(['watch', 'join', invitation], ofFleet);
  t.like(joined, { first_ping_sent: true, first_ping_received: true, watched_by: ofOther.PUBLIC_URL });
  Object.assign(pair, { fleetId: joined.monitor_id_there, otherId: joined.monitor_id });
  t.true(await reported('fleet', 'up'));
});

for (const name of PARTS) {
  test.serial(`${name} that is frozen is reported by the other installation, and so is its end`, async (t) => {
    await reported('fleet', 'up');
    const child = pair.fleet.programs.find(({ child: { spawnargs } }) => spawnargs.includes(FLEET[name].at(-1) ?? ''));
    child?.child.kill('SIGSTOP');
    t.true(await reported('fleet', 'down'));
    child?.child.kill('SIGCONT');
    t.true(await reported('fleet', 'up'));
  });

  test.serial(`${name} that is killed is reported by the other installation, and so is its next start`, async (t) => {
    await pair.fleet.kill(name);
    t.true(await reported('fleet', 'down'));
    await pair.fleet.start(name);
    t.true(await reported('fleet', 'up'));
  });
}

test.serial('the other installation, killed as a whole, is reported as well, and goes on after a start', async (t) => {
  const { other, ofOther } = pair;
  await reported('other', 'up');
  await other.program.stop('SIGKILL');
  t.true(await reported('other', 'down'));
  pair.other = await startService(harness, ofOther, other.token);
  t.true(await reported('other', 'up'));
});

test.serial('one command ends both directions', async (t) => {
  const { fleet, ofFleet, other, ofOther, fleetId, otherId } = pair;
  const removed = await jsonOf(['watch', 'remove', ofOther.PUBLIC_URL], ofFleet);
  t.deepEqual(removed, { removed: ofOther.PUBLIC_URL, other_side: 'removed' });
  t.is((await other.call('GET', `/monitors/${fleetId}`)).status, 404);
  t.is((await fleet.call('GET', `/monitors/${otherId}`)).status, 404);
  for (const env of [ofFleet, ofOther]) t.deepEqual(await jsonOf(['watch', 'list'], env), []);
});
