import { drawsOf, type Draws } from './random.ts';

/** A fault and its duration in milliseconds. */
export type Fault =
  | { kind: 'kill'; process: string; forMs: number }
  | { kind: 'postgres-stop'; isHard: boolean; forMs: number }
  | { kind: 'postgres-freeze'; forMs: number }
  | { kind: 'disk'; forMs: number }
  | { kind: 'redis-restart'; forMs: number }
  | { kind: 'redis-freeze'; forMs: number }
  | { kind: 'redis-flush'; forMs: number }
  | { kind: 'redis-node-kill'; master: number; forMs: number }
  | { kind: 'redis-promote'; master: number; forMs: number }
  | { kind: 'redis-slot'; queue: string; forMs: number }
  | { kind: 'second-clock'; forMs: number }
  | { kind: 'receiver'; answer: 'error' | 'hang' | 'reset'; forMs: number }
  | { kind: 'slow-link'; link: string; delayMs: number; forMs: number }
  | { kind: 'lossy-link'; link: string; forMs: number }
  /** `whose` is a process, `postgres`, or `all` of them. */
  | { kind: 'clock'; whose: string; aheadSeconds: number; forMs: number };

export type FaultKind = Fault['kind'];

/** One server, or a Cluster of three masters with a replica each. */
export type RedisKind = 'server' | 'cluster';

/** A fault with its start, in milliseconds since the script began. */
export type PlannedFault = { atMs: number; fault: Fault };

export type PlanOptions = {
  seconds: number;
  processes: readonly string[];
  /** Kinds that may occur; by default all for this Redis. */
  kinds?: readonly FaultKind[] | undefined;
  /** A single server by default. */
  redis?: RedisKind;
  /** Longest freeze or disconnection, in milliseconds. */
  longestMs: number;
  /** Time between the starts of two faults, in milliseconds; they may overlap. */
  apartMs: readonly [number, number];
};

/** The relative frequency of each kind. */
const PARTS = {
  kill: 8,
  'postgres-stop': 2,
  'postgres-freeze': 2,
  disk: 2,
  'redis-restart': 2,
  'redis-freeze': 2,
  'redis-flush': 2,
  'second-clock': 1,
  receiver: 3,
  'slow-link': 2,
  'lossy-link': 2,
  clock: 4,
  'redis-node-kill': 3,
  'redis-promote': 2,
  'redis-slot': 2,
} as const satisfies Record<FaultKind, number>;

/** Start of the first fault, when the fleet is at work; the last faults end with the script. */
const FIRST_AT_MS = 4000;
const LAST_BEFORE_MS = 1000;

/** Longest restart of a killed process; it is not killed again before. */
const STARTS_WITHIN_MS = 10_000;

/** Delay of a supervisor before it restarts a process. */
const RESTART_MS = [1000, 10_000] as const;

/** Plans the faults of a seed. No fault uses a process, server or link while another one does. */
export function planFaults(seed: number, options: PlanOptions): PlannedFault[] {
  // Drawn separately from the script, which would otherwise change with the fleet.
  const draws = drawsOf(seed ^ 0x5e_ed_fa_17);
  const bag = (options.kinds ?? KINDS)
    .filter((kind) => !NOT_FOR[options.redis ?? 'server'].includes(kind))
    .flatMap((kind) => Array.from({ length: PARTS[kind] }, () => kind));
  const untilMs = options.seconds * 1000;
  const busyUntilMs = new Map<string, number>();
  const planned: PlannedFault[] = [];
  for (let atMs = FIRST_AT_MS; atMs < untilMs - LAST_BEFORE_MS; atMs += draws.between(...options.apartMs)) {
    const drawn = drawFault(draws, draws.pick(bag), options);
    const fault = { ...drawn, forMs: Math.min(drawn.forMs, untilMs - atMs) };
    const inHand = holdOf(fault);
    if ((busyUntilMs.get(inHand) ?? 0) > atMs) continue;
    busyUntilMs.set(inHand, atMs + fault.forMs + STARTS_WITHIN_MS);
    planned.push({ atMs, fault });
  }
  return planned;
}

export const KINDS = Object.keys(PARTS) as FaultKind[];

const NOT_FOR: Readonly<Record<RedisKind, readonly FaultKind[]>> = {
  server: ['redis-node-kill', 'redis-promote', 'redis-slot'],
  cluster: ['redis-restart', 'redis-freeze'],
};

export const MASTERS = 3;

/** Queues whose slots move, by the tags of their keys. */
const MOVED = [
  '{spotcheck:evaluate}',
  '{spotcheck:deliver}',
  '{spotcheck:maintain}',
  '{spotcheck:check-hanoi}',
  '{spotcheck:check-lima}',
] as const;

function drawFault(draws: Draws, kind: FaultKind, { processes, longestMs, redis }: PlanOptions): Fault {
  const forMs = draws.between(Math.min(3000, longestMs), longestMs);
  switch (kind) {
    case 'kill':
      return { kind, process: draws.pick(processes), forMs: Math.min(draws.between(...RESTART_MS), longestMs) };
    case 'postgres-stop':
      return { kind, isHard: draws.isHit(0.5), forMs: 0 };
    case 'redis-restart':
      return { kind, forMs: Math.min(draws.between(100, 8000), longestMs) };
    case 'redis-flush':
      return { kind, forMs: 0 };
    case 'redis-node-kill':
      return { kind, master: draws.between(0, MASTERS - 1), forMs };
    case 'redis-promote':
      return { kind, master: draws.between(0, MASTERS - 1), forMs: 0 };
    case 'redis-slot':
      return { kind, queue: draws.pick(MOVED), forMs: 0 };
    case 'receiver':
      return { kind, answer: draws.pick(['error', 'hang', 'reset'] as const), forMs: Math.min(forMs, 20_000) };
    case 'slow-link':
      return { kind, link: drawLink(draws, processes, redis), delayMs: draws.between(20, 300), forMs };
    case 'lossy-link':
      return { kind, link: drawLink(draws, processes, redis), forMs: Math.min(forMs, 15_000) };
    case 'clock':
      return {
        kind,
        whose: draws.isHit(0.4) ? ALL_CLOCKS : draws.pick([...processes, 'postgres']),
        aheadSeconds: draws.pick(STEPS_SECONDS),
        forMs,
      };
    case 'postgres-freeze':
    case 'disk':
    case 'redis-freeze':
    case 'second-clock':
      return { kind, forMs };
    default:
      return kind satisfies never;
  }
}

/** Returns the name of the link from a process to a server, or to the receiver. */
export function linkName(process: string, server: 'postgres' | 'redis'): string {
  return `${process}>${server}`;
}

/** Owner of a fault of all clocks: that of the only machine. */
export const ALL_CLOCKS = 'all';

/** Steps of clocks, from a broken time server to a dead battery; they are undone at the end. */
const STEPS_SECONDS = [-86_400, -3600, -300, -30, -7, 7, 30, 300, 3600, 86_400];

export const RECEIVER_LINK = 'receiver';

/** Draws a link that exists; a Cluster announces its nodes itself, so links to them are impossible. */
function drawLink(draws: Draws, processes: readonly string[], redis: RedisKind | undefined): string {
  if (draws.isHit(0.15)) return RECEIVER_LINK;
  if (redis === 'cluster') return linkName(draws.pick(processes), 'postgres');
  return linkName(draws.pick(processes), draws.pick(['postgres', 'redis'] as const));
}

function holdOf(fault: Fault): string {
  if (fault.kind === 'kill') return fault.process;
  if (fault.kind === 'slow-link' || fault.kind === 'lossy-link') return fault.link;
  // A fault of PostgreSQL's disk occupies PostgreSQL as well.
  if (fault.kind === 'disk') return 'postgres';
  return fault.kind.split('-')[0] ?? '';
}

/** Describes a fault in one line. */
export function describeFault({ kind, forMs, ...rest }: Fault): string {
  const details = Object.entries(rest)
    .map(([name, value]) => ` ${name} ${value}`)
    .join('');
  return `${kind}${details}${forMs > 0 ? ` for ${(forMs / 1000).toFixed(1)} s` : ''}`;
}
