import { drawsOf, type Draws } from './random.ts';

/** What may befall the fleet, and for how long; in milliseconds. */
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

/** A fault and when it begins, in milliseconds since the script began. */
export type PlannedFault = { atMs: number; fault: Fault };

export type PlanOptions = {
  seconds: number;
  processes: readonly string[];
  /** Kinds that may occur; all that there are for such a Redis where it is left out. */
  kinds?: readonly FaultKind[] | undefined;
  /** A server where it is left out. */
  redis?: RedisKind;
  /** The longest that anything stays frozen or cut off, in milliseconds. */
  longestMs: number;
  /** Between the beginnings of two faults, in milliseconds: some come while others last. */
  apartMs: readonly [number, number];
};

/** How often each kind is drawn, in parts. */
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

/** The first one waits until the fleet is at work, and the last ones are over with the script. */
const FIRST_AT_MS = 4000;
const LAST_BEFORE_MS = 1000;

/** A process that was killed takes so long to be at work again, at the most: it is not killed before. */
const STARTS_WITHIN_MS = 10_000;

/** How a supervisor waits before it starts a process again. */
const RESTART_MS = [1000, 10_000] as const;

/**
 * Plans the faults of a seed. What one fault has in hand (a process, a server, a link) no other one touches meanwhile.
 */
export function planFaults(seed: number, options: PlanOptions): PlannedFault[] {
  // Other draws than those of the script, which would otherwise change with the fleet.
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

/** Queues whose slots move, by their keys' tags. */
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

/** The name of a way from a process to a server, or of the one to the receiver. */
export function linkName(process: string, server: 'postgres' | 'redis'): string {
  return `${process}>${server}`;
}

/** Whose clock it is where it is everybody's: that of the only machine. */
export const ALL_CLOCKS = 'all';

/**
 * By how much clocks are set, and set back again at the end: from what a broken time server does to what a dead battery
 * does.
 */
const STEPS_SECONDS = [-86_400, -3600, -300, -30, -7, 7, 30, 300, 3600, 86_400];

export const RECEIVER_LINK = 'receiver';

/** A Cluster names its nodes itself, so that no link can be laid to them. */
function drawLink(draws: Draws, processes: readonly string[], redis: RedisKind | undefined): string {
  if (draws.isHit(0.15)) return RECEIVER_LINK;
  if (redis === 'cluster') return linkName(draws.pick(processes), 'postgres');
  return linkName(draws.pick(processes), draws.pick(['postgres', 'redis'] as const));
}

function holdOf(fault: Fault): string {
  if (fault.kind === 'kill') return fault.process;
  if (fault.kind === 'slow-link' || fault.kind === 'lossy-link') return fault.link;
  // Whoever has PostgreSQL's disk in hand has PostgreSQL.
  if (fault.kind === 'disk') return 'postgres';
  return fault.kind.split('-')[0] ?? '';
}

/** One line that tells a fault. */
export function describeFault({ kind, forMs, ...rest }: Fault): string {
  const details = Object.entries(rest)
    .map(([name, value]) => ` ${name} ${value}`)
    .join('');
  return `${kind}${details}${forMs > 0 ? ` for ${(forMs / 1000).toFixed(1)} s` : ''}`;
}
