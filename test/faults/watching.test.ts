import test from 'ava';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { findKeptPort } from '../../tools/kept-port.ts';
import type { ApiClient } from '../helpers/api-client.ts';
import { runSpotcheck } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startFleet, type Fleet } from '../helpers/fleet.ts';
import { createHarness } from '../helpers/harness.ts';
import { outputMatching, startProgram } from '../helpers/program.ts';
import { newPreparedDataDir, startService, type Service } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

/** Processes that are stopped in each fleet, so that every part of a turn is missed once. */
const PARTS: readonly (readonly ProcessName[])[] = [
  ['web', 'check', 'evaluate'],
  ['deliver', 'maintain', 'clock'],
];

/** The shortest interval: heartbeats are missed 15 s after the last ping. */
const WATCH_SECONDS = '5';

/** Generous for a busy machine: the test checks whether a failure is reported, not how soon. */
const WAIT = { timeoutMs: 240_000, intervalMs: 250 };

type Environment = Record<'PORT' | 'PUBLIC_URL' | 'WATCH_SECONDS', string>;

/** A fleet, and the monitors with which it and the other installation watch each other. */
class Watched {
  readonly env: Environment & { DATABASE_URL: string; SECRET_KEYS: string; ALLOW_PRIVATE_NETWORK: string };
  readonly fleet: Fleet;
  idThere = '';
  idHere = '';
  #last: Promise<unknown> = Promise.resolve();

  constructor(env: Watched['env'], fleet: Fleet) {
    this.env = env;
    this.fleet = fleet;
  }

  /** Runs one `work` on the fleet at a time, each once the other installation reports it up. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#workAfter(this.#last, work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #workAfter(last: Promise<unknown>, work: () => Promise<void>): Promise<void> {
    await last;
    await this.isReported('up');
    await work();
  }

  /** Waits until the other installation reports this status of the fleet. */
  isReported(status: 'up' | 'down'): Promise<boolean> {
    return hasStatus(other.call, this.idThere, status);
  }
}

const { harness, close } = createHarness();
let ofOther: Environment & { DATA_DIR: string };
let other: Service;
const fleets: Watched[] = [];

async function environmentOf(): Promise<Environment> {
  const port = await findKeptPort();
  return { PORT: String(port), PUBLIC_URL: `http://localhost:${port}`, WATCH_SECONDS };
}

/** Returns the JSON that a command prints under --json. */
async function jsonOf(args: readonly string[], env: Record<string, string>) {
  const { status, stdout, stderr } = await runSpotcheck([...args, '--json'], env);
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

async function hasStatus(call: ApiClient, id: string, status: 'up' | 'down'): Promise<boolean> {
  // A request on a slow machine may meet a connection that the service closes after its idle time.
  const current = () =>
    call('GET', `/monitors/${id}`).then(
      ({ json }) => json['status'],
      () => null,
    );
  return await until(async () => (await current()) === status, WAIT);
}

async function startWatched(): Promise<Watched> {
  const { databaseUrl, drop } = await createTestDatabase();
  harness.teardown(drop);
  const env = {
    ...(await environmentOf()),
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    ALLOW_PRIVATE_NETWORK: 'true',
  };
  return new Watched(env, await startFleet(harness, env));
}

test.before(async () => {
  ofOther = { ...(await environmentOf()), DATA_DIR: await newPreparedDataDir(harness) };
  other = await startService(harness, ofOther);
  for (const _parts of PARTS) fleets.push(await startWatched());
});

test.after.always(close);

test.serial('installations join by one command each, and are then pinged by the other', async (t) => {
  for (const watched of fleets) {
    const { invitation } = await jsonOf(['watch', 'invite'], ofOther);
    const joined = await jsonOf(['watch', 'join', invitation], watched.env);
    t.like(joined, { first_ping_sent: true, first_ping_received: true, watched_by: ofOther.PUBLIC_URL });
    Object.assign(watched, { idThere: joined.monitor_id_there, idHere: joined.monitor_id });
    t.true(await watched.isReported('up'));
  }
});

test.serial('an installation killed as a whole is reported by both others, and recovers after a start', async (t) => {
  const haveIt = (status: 'up' | 'down') =>
    Promise.all(fleets.map(({ fleet, idHere }) => hasStatus(fleet.call, idHere, status)));
  await haveIt('up');
  await other.program.stop('SIGKILL');
  t.deepEqual(await haveIt('down'), [true, true]);
  other = await startService(harness, ofOther, other.token);
  t.deepEqual(await haveIt('up'), [true, true]);
});

for (const [index, parts] of PARTS.entries())
  for (const name of parts) {
    test(`a frozen ${name} process is reported by the other installation, and so is its recovery`, async (t) => {
      const watched = fleets[index];
      await watched?.inTurn(async () => {
        const { programs } = watched.fleet;
        const frozen = programs.find(({ child: { spawnargs } }) => spawnargs.includes(FLEET[name].at(-1) ?? ''));
        frozen?.child.kill('SIGSTOP');
        t.true(await watched.isReported('down'));
        frozen?.child.kill('SIGCONT');
        t.true(await watched.isReported('up'));
      });
    });

    test(`a killed ${name} process is reported by the other installation, and so is its restart`, async (t) => {
      const watched = fleets[index];
      await watched?.inTurn(async () => {
        await watched.fleet.kill(name);
        t.true(await watched.isReported('down'));
        await watched.fleet.start(name);
        t.true(await watched.isReported('up'));
      });
    });
  }

test('a region whose only check process was killed is reported until it is retired', async (t) => {
  const watched = fleets[1];
  await watched?.inTurn(async () => {
    const env = { ...watched.env, AGENT_REGION: 'paris', LOG_LEVEL: 'debug' };
    const second = startProgram(harness, FLEET.check, env);
    await outputMatching(second, /mon_canary/);
    await watched.isReported('up');
    await second.stop('SIGKILL');
    t.true(await watched.isReported('down'));
    const retired = await runSpotcheck(['agent', 'retire', '--region', 'paris', '--yes'], watched.env);
    t.is(retired.status, 0, retired.stderr);
    t.true(await watched.isReported('up'));
  });
});

test('one command ends watching in both directions, and other watches remain', async (t) => {
  const [first, second] = fleets;
  await first?.inTurn(async () => {
    const removed = await jsonOf(['watch', 'remove', ofOther.PUBLIC_URL], first.env);
    t.deepEqual(removed, { removed: ofOther.PUBLIC_URL, other_side: 'removed' });
    t.is((await other.call('GET', `/monitors/${first.idThere}`)).status, 404);
    t.is((await first.fleet.call('GET', `/monitors/${first.idHere}`)).status, 404);
    t.deepEqual(await jsonOf(['watch', 'list'], first.env), []);
    const kept = await jsonOf(['watch', 'list'], ofOther);
    t.deepEqual(
      kept.map(({ name }: { name: string }) => name),
      [second?.env.PUBLIC_URL],
    );
  });
});
