import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Worker } from 'node:worker_threads';
import { createRandom } from '../truth/random.ts';
import type { CellFigures, CellSettings, RunTimes } from './cell.ts';
import { decideInOrder, type Decision } from './moved-account.ts';
import { planCells } from './plan.ts';
import type { FromCell, ToCell } from './worker.ts';

export type SimulationOptions = {
  monitors: number;
  cells: number;
  intervalSeconds: number;
  seconds: number;
  realEvery: number;
  seed: number;
};

/** Figures of the account that moved. */
export type MoveFigures = {
  monitors: number;
  from: string;
  to: string;
  frozenSeconds: number;
  rechecks: number;
  checks: number;
  /** Checks whose results arrived in neither cell, and results that arrived twice. */
  lostResults: number;
  longestGapMs: number;
  /** Times at which a monitor had no check for an interval and five seconds. */
  missed: number;
  decisions: number;
  /** Decisions that an account that does not move would not have, and those missing here that it would have. */
  differing: number;
};

export type SimulationFigures = { cells: CellFigures[]; move: MoveFigures; seconds: number; requests: number };

/** Loopback addresses of the target, so that no pair of address and port is reused while it still lingers. */
const TARGETS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];

/** One monitor in this many belongs to the account that moves: 10,000 of a million. */
const MOVING_PART = 100;

/**
 * Share of the run at which the account is frozen, and the longest time until the flip; for 10,000 monitors it may be
 * 15 s.
 */
const FREEZE_AT = 0.35;
const MAX_FROZEN_SECONDS = 15;

/** Delay from the replies of all cells that they are ready to the start of the run. */
const START_IN_MS = 500;

/** Lateness of a check from which an interval counts as missed, in milliseconds: a slot spreads over 5 s. */
const TOLERANCE_MS = 5000;

/** Runs all cells, each in a thread of its own, and moves an account from the first to the last of them. */
export async function simulateCells(options: SimulationOptions): Promise<SimulationFigures> {
  const { intervalSeconds, realEvery, seed } = options;
  const movingMonitors = Math.floor(options.monitors / MOVING_PART);
  const planned = planCells({ ...options, movingMonitors }, createRandom([seed]));
  const target = await startTarget();
  const threads = planned.map(({ name, accounts }, index) => {
    const move = index === 0 ? 'leaves' : index === planned.length - 1 ? 'comes' : null;
    const data: CellSettings = { name, accounts, intervalSeconds, seed, realEvery, targets: target.urls, move };
    return new CellThread(data);
  });
  try {
    await Promise.all(threads.map(({ ready }) => ready));
    const times = timesOf(options);
    threads[0]?.onLeaving((leaving) => threads.at(-1)?.send({ kind: 'arriving', leaving }));
    const cells = await Promise.all(threads.map((thread) => thread.run(times)));
    return {
      cells,
      move: judgeMove(cells, { times, intervalSeconds, movingMonitors }),
      seconds: options.seconds,
      requests: target.requests(),
    };
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
    target.close();
  }
}

function timesOf({ seconds }: SimulationOptions): RunTimes {
  const startMs = Date.now() + START_IN_MS;
  const freezeMs = startMs + Math.floor(seconds * FREEZE_AT * 1000);
  const flipMs = freezeMs + Math.min(MAX_FROZEN_SECONDS, seconds / 8) * 1000;
  return { startMs, freezeMs, flipMs, endMs: startMs + seconds * 1000 };
}

/** A thread with a cell, and its messages. */
class CellThread {
  readonly #worker: Worker;
  readonly #done = Promise.withResolvers<CellFigures>();
  readonly #ready = Promise.withResolvers<void>();
  #handOver: (leaving: Extract<FromCell, { kind: 'leaving' }>['leaving']) => void = () => undefined;

  constructor(settings: CellSettings) {
    this.#worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: settings });
    this.#worker.on('message', (message: FromCell) => {
      if (message.kind === 'ready') this.#ready.resolve();
      else if (message.kind === 'leaving') this.#handOver(message.leaving);
      else this.#done.resolve(message.figures);
    });
    this.#worker.on('error', (error) => {
      this.#ready.reject(error);
      this.#done.reject(error);
    });
    this.#done.promise.catch(() => undefined);
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  onLeaving(handOver: (leaving: Extract<FromCell, { kind: 'leaving' }>['leaving']) => void): void {
    this.#handOver = handOver;
  }

  send(message: ToCell): void {
    this.#worker.postMessage(message, []);
  }

  async run(times: RunTimes): Promise<CellFigures> {
    this.send({ kind: 'run', times });
    return await this.#done.promise;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** Starts a server that answers every probe with 200 and two bytes. */
async function startTarget(): Promise<{ urls: string[]; requests: () => number; close: () => void }> {
  let requests = 0;
  const servers: Server[] = [];
  const urls: string[] = [];
  for (const host of TARGETS) {
    const server = createServer((_request, response) => {
      requests += 1;
      response.end('ok');
    }).listen(0, host);
    await once(server, 'listening');
    const address = server.address();
    servers.push(server);
    if (typeof address === 'object' && address !== null) urls.push(`http://${host}:${address.port}/`);
  }
  return { urls, requests: () => requests, close: () => servers.forEach((server) => server.close()) };
}

function judgeMove(
  cells: readonly CellFigures[],
  { times, intervalSeconds, movingMonitors }: { times: RunTimes; intervalSeconds: number; movingMonitors: number },
): MoveFigures {
  const [from, to] = [cells[0], cells.at(-1)];
  const both = <Value>(listOf: (moved: NonNullable<CellFigures['moved']>) => Value[][]) =>
    Array.from({ length: movingMonitors }, (_, index) =>
      [from, to].flatMap((cell) => (cell?.moved && listOf(cell.moved)[index]) ?? []),
    );
  const startsMs = both(({ startsMs: starts }) => starts);
  const taken = both((moved) => moved.taken);
  const gapsMs = startsMs.flatMap((starts) => {
    const moments = [times.startMs, ...starts.toSorted((a, b) => a - b), times.endMs];
    return moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0));
  });
  const decisions = [from, to].flatMap((cell) => cell?.moved?.decisions ?? []);
  const expected = decideInOrder(taken, { intervalSeconds, times });
  const count = (lists: readonly (readonly unknown[])[]) => lists.reduce((sum, list) => sum + list.length, 0);
  return {
    monitors: movingMonitors,
    from: from?.name ?? '',
    to: to?.name ?? '',
    frozenSeconds: (times.flipMs - times.freezeMs) / 1000,
    rechecks: to?.moved?.rechecks ?? 0,
    checks: count(startsMs),
    lostResults: startsMs.reduce(
      (sum, starts, index) => sum + Math.abs(starts.length - (taken[index]?.length ?? 0)),
      0,
    ),
    longestGapMs: gapsMs.reduce((longest, gap) => Math.max(longest, gap), 0),
    missed: gapsMs.filter((gap) => gap > intervalSeconds * 1000 + TOLERANCE_MS).length,
    decisions: decisions.length,
    differing: countDiffering(decisions, expected),
  };
}

/** Counts the decisions that are in only one of the lists, and repeated ones. */
function countDiffering(decisions: readonly Decision[], expected: readonly Decision[]): number {
  const keyOf = ({ index, isDown, dueAtMs }: Decision) => `${index} ${isDown} ${dueAtMs}`;
  const [a, b] = [decisions.map(keyOf), expected.map(keyOf)];
  const [inA, inB] = [new Set(a), new Set(b)];
  const repeated = a.length - inA.size;
  return repeated + a.filter((key) => !inB.has(key)).length + b.filter((key) => !inA.has(key)).length;
}
