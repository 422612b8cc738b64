import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { within } from '../../core/time.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { ownEnvironment, ROOT } from '../../test/helpers/program.ts';
import { REGIONS } from './script.ts';

/** One process of the fleet: its arguments and its own environment. */
export type Member = { name: string; args: readonly string[]; env: Record<string, string> };

/** Supervised processes: one that exits is restarted. */
export type Fleet = {
  names: readonly string[];
  /** Kills a process as kill -9 does, and restarts it later; resolves when it is at work again. */
  kill: (name: string, restartAfterMs: number) => Promise<void>;
  /** Returns the API's present addresses, one per web process; a starting process has none. */
  urls: () => string[];
  /** Processes that exited by themselves, or were not at work again: no fault around a process may end it. */
  ended: readonly string[];
};

/** Number of web, evaluate and deliver processes. */
export type FleetSize = { web: number; evaluate: number; deliver: number };

/** Two of each kind that may be several, and the fleet of the short form. */
export const WHOLE_FLEET: FleetSize = { web: 2, evaluate: 2, deliver: 2 };
export const SMALL_FLEET: FleetSize = { web: 1, evaluate: 2, deliver: 1 };

/** Delay before a process whose servers were away is restarted, in milliseconds. */
const TRY_AGAIN_MS = 1000;

/** Lists the processes of a fleet, one `check` for each region. */
export function listMembers({ web, evaluate, deliver }: FleetSize): Member[] {
  const one = (kind: ProcessName, name: string = kind, env = {}): Member => ({ name, args: FLEET[kind], env });
  const several = (kind: ProcessName, count: number) =>
    Array.from({ length: count }, (_, index) => one(kind, `${kind}-${index + 1}`));
  return [
    ...several('web', web),
    ...REGIONS.map((region) => one('check', `check-${region}`, { AGENT_REGION: region })),
    ...several('evaluate', evaluate),
    ...several('deliver', deliver),
    one('maintain'),
    one('clock'),
  ];
}

/** Starts all members, each with a log file below the folder, and waits until they are at work. */
export async function startFleet(
  harness: Harness,
  { members, folder }: { members: readonly Member[]; folder: string },
): Promise<Fleet> {
  const ended: string[] = [];
  const processes = new Map(
    members.map((member) => [
      member.name,
      superviseMember(harness, { member, folder, onEnd: (line) => ended.push(line) }),
    ]),
  );
  // An interrupted run must leave no process behind, including those that are still starting.
  const leave = (): void => processes.forEach(({ end }) => end());
  process.once('exit', leave);
  harness.teardown(async () => void process.off('exit', leave));
  // In sequence: a machine with two processors starts them no sooner in parallel, and each would seem slow.
  for (const { start } of processes.values()) await start();
  return {
    names: members.map(({ name }) => name),
    urls: () => [...processes.values()].flatMap(({ url }) => url() ?? []),
    ended,
    async kill(name, restartAfterMs) {
      await processes.get(name)?.kill(restartAfterMs);
    },
  };
}

/** Time limit for a killed process to be at work again, in milliseconds: faults meanwhile may delay its start. */
const AT_WORK_WITHIN_MS = 120_000;

type Supervised = {
  start: () => Promise<void>;
  kill: (restartAfterMs: number) => Promise<void>;
  end: () => void;
  url: () => string | null;
};

/** Keeps one process running until the harness ends. */
function superviseMember(
  harness: Harness,
  { member, folder, onEnd }: { member: Member; folder: string; onEnd: (line: string) => void },
): Supervised {
  const log = createWriteStream(join(folder, `${member.name}.log`), { flags: 'a' });
  const stopping = new AbortController();
  let child: ChildProcess | null = null;
  let url: string | null = null;
  let killedForMs: number | null = null;
  let atWork = Promise.withResolvers<void>();
  let isAtWork = false;

  /** Starts a new wait; callers that wait for the previous one wait for this one as well. */
  const awaitAnew = (): void => {
    if (isAtWork) atWork = Promise.withResolvers<void>();
    isAtWork = false;
  };
  /** Resolves when the process has exited, with whether it had been at work. */
  const runOnce = async (): Promise<boolean> => {
    const started = spawn(process.execPath, member.args, {
      cwd: ROOT,
      env: { ...ownEnvironment(), ...member.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    let wasAtWork = false;
    started.stderr.pipe(log, { end: false });
    createInterface({ input: started.stdout }).on('line', (line) => {
      log.write(`${line}\n`);
      // Earlier output of a killed process does not mean that the next one has started.
      if (!line.includes('"process.started"') || killedForMs !== null) return;
      url = toUrl(/"port":(\d+)/.exec(line)?.[1]);
      wasAtWork = true;
      isAtWork = true;
      atWork.resolve();
    });
    const [status, signal] = await once(started, 'exit');
    log.write(`ended: ${status ?? signal}\n`);
    if (wasAtWork && killedForMs === null && !stopping.signal.aborted)
      onEnd(`${member.name} ended with ${status ?? signal}`);
    child = null;
    url = null;
    return wasAtWork;
  };
  const restartUntilStopped = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const wasAtWork = await runOnce();
      const waitMs = killedForMs ?? TRY_AGAIN_MS;
      if (wasAtWork) awaitAnew();
      killedForMs = null;
      await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };

  return {
    start() {
      const running = restartUntilStopped();
      harness.teardown(async () => {
        stopping.abort();
        child?.kill('SIGKILL');
        await running;
        log.end();
      });
      return atWork.promise;
    },
    url: () => url,
    end: () => void child?.kill('SIGKILL'),
    async kill(restartAfterMs) {
      if (child !== null) {
        killedForMs = restartAfterMs;
        awaitAnew();
        child.kill('SIGKILL');
      }
      const again = atWork.promise.then(() => true);
      if (!(await within(restartAfterMs + AT_WORK_WITHIN_MS, again, false)))
        onEnd(`${member.name} was not at work again`);
    },
  };
}

function toUrl(port: string | undefined): string | null {
  return port === undefined ? null : `http://127.0.0.1:${port}`;
}
