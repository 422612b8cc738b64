import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Harness } from '../../bench/harness/harness.ts';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { ownEnvironment, ROOT } from '../../test/helpers/program.ts';
import { REGIONS } from './script.ts';

/** One process of the fleet: how it is started, and the environment of it alone. */
export type Member = { name: string; args: readonly string[]; env: Record<string, string> };

/** Processes that a supervisor keeps: one that ends is started again. */
export type Fleet = {
  names: readonly string[];
  /** Kills a process as kill -9 does, and starts it again after a while; resolves when it is at work again. */
  kill: (name: string, restartAfterMs: number) => Promise<void>;
  /** Where the API is at the moment, one address a web process; a process that is being started has none. */
  urls: () => string[];
  /**
   * What ended by itself after it had been at work, one line each: nothing that happens around a process may end it.
   */
  ended: readonly string[];
};

/** Processes beside the web and check ones, by how many there are. */
export type FleetSize = { web: number; evaluate: number; deliver: number };

/** Two of each kind that may be several, and the fleet of the short form. */
export const WHOLE_FLEET: FleetSize = { web: 2, evaluate: 2, deliver: 2 };
export const SMALL_FLEET: FleetSize = { web: 1, evaluate: 2, deliver: 1 };

/** What cannot start, because its servers are away, is tried again so soon, in milliseconds. */
const TRY_AGAIN_MS = 1000;

/** The processes of a fleet, one `check` for each region. */
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

/**
 * Starts all members, each with what it writes in a file of its own below the folder, and waits until they are at work.
 */
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
  // An interrupted run must leave no process behind, not even one that was being started.
  const leave = (): void => processes.forEach(({ end }) => end());
  process.once('exit', leave);
  harness.defer(async () => void process.off('exit', leave));
  // One after the other: a machine with two processors starts them no sooner at once, and each would seem slow.
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

type Supervised = {
  start: () => Promise<void>;
  kill: (restartAfterMs: number) => Promise<void>;
  end: () => void;
  url: () => string | null;
};

/** Keeps one process running until the harness is taken down. */
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

  /**
   * From now on it is waited for anew; who waits already, because it has not been at work since, waits for the same.
   */
  const awaitAnew = (): void => {
    if (isAtWork) atWork = Promise.withResolvers<void>();
    isAtWork = false;
  };
  /** Resolves when the process is gone, with whether it had been at work. */
  const runOnce = async (): Promise<boolean> => {
    const started = spawn(process.execPath, member.args, {
      cwd: ROOT,
      env: { ...ownEnvironment(), ...member.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    let wasAtWork = false;
    started.stderr.pipe(log, { end: false });
    started.stdout.setEncoding('utf8').on('data', (text: string) => {
      log.write(text);
      // What a killed one had written before says nothing of the next.
      if (!text.includes('"process.started"') || killedForMs !== null) return;
      url = toUrl(/"port":(\d+)/.exec(text)?.[1]);
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
      harness.defer(async () => {
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
      if (child === null) return await atWork.promise;
      killedForMs = restartAfterMs;
      awaitAnew();
      child.kill('SIGKILL');
      await atWork.promise;
    },
  };
}

function toUrl(port: string | undefined): string | null {
  return port === undefined ? null : `http://127.0.0.1:${port}`;
}
