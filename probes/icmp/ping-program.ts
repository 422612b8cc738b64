import { execFile } from 'node:child_process';
import type { EchoMeans, EchoOutcome, EchoRound, Family } from './echo-packet.ts';

const REPLY = /\b(?:icmp_)?seq=(?<sequence>\d+)\b.*\btime[=<](?<ms>[\d.]+) ms/;
const TRANSMITTED = /^(?<sent>\d+) packets transmitted/m;

/**
 * Parses the output of ping from iputils or BusyBox; null if it lacks the number of requests sent, because ping failed.
 * A request with two replies counts once.
 */
export function readPingOutput(text: string): EchoOutcome | null {
  const sent = Number(TRANSMITTED.exec(text)?.groups?.sent ?? 0);
  if (sent === 0) return null;
  const roundTrips = new Map<string, number>();
  for (const line of text.split('\n')) {
    const { sequence, ms } = REPLY.exec(line)?.groups ?? {};
    if (sequence !== undefined && !roundTrips.has(sequence)) roundTrips.set(sequence, Number(ms));
  }
  return { outcome: 'measured', sent, roundTripsMs: [...roundTrips.values()] };
}

/** Maximum programs that run at a time; further rounds wait. */
const PROGRAMS_AT_ONCE = 32;

/** Pause between two requests, in milliseconds: the minimum that older versions allow users other than root. */
const GAP_MS = 200;

// The output is parsed, so it must be English, and the program is the system's own.
const ENVIRONMENT = { LC_ALL: 'C', PATH: '/usr/bin:/bin:/usr/sbin:/sbin' };

/** How long an interrupted program may take to print its results, in milliseconds. */
const GRACE_MS = 1000;

const LOOPBACK = { 4: '127.0.0.1', 6: '::1' } as const satisfies Record<Family, string>;
const SELF_TEST_MS = 2000;

const OVERLOADED: EchoOutcome = {
  outcome: 'unavailable',
  reason: 'Too many ping programs were running on the probing machine',
};
const NOT_RUN: EchoOutcome = {
  outcome: 'unavailable',
  reason: 'The ping program of the probing machine could not send echo requests',
};

/**
 * Opens the system's `ping`, if it can measure loopback; null if it is missing or may not send. `command` is the
 * program, by path or as found in PATH.
 */
export async function openPingProgram(family: Family, command = 'ping'): Promise<EchoMeans | null> {
  const ping = new PingProgram(command);
  const selfTest = await ping.measure({ address: LOOPBACK[family], count: 1, deadlineMs: SELF_TEST_MS });
  const close = async () => undefined;
  return selfTest.outcome === 'measured'
    ? { kind: 'ping program', measure: (round) => ping.measure(round), close }
    : null;
}

class PingProgram {
  readonly #command: string;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(command: string) {
    this.#command = command;
  }

  async measure(round: EchoRound): Promise<EchoOutcome> {
    const startedAtMs = performance.now();
    await this.#enter();
    try {
      const deadlineMs = round.deadlineMs - (performance.now() - startedAtMs);
      // A target must not appear slow because of a long queue here.
      return deadlineMs < round.deadlineMs / 2 ? OVERLOADED : await run(this.#command, { ...round, deadlineMs });
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#running >= PROGRAMS_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    // A permit is handed over, not released: no other request can take it in between.
    if (next === undefined) this.#running -= 1;
    else next();
  }
}

/** Runs ping with options that iputils and BusyBox share. Interrupted at the deadline, it prints its counts so far. */
function run(command: string, { address, count, deadlineMs }: EchoRound): Promise<EchoOutcome> {
  // Fewer requests are sent if the gap is too wide for the deadline: each has half the deadline for its reply.
  const affordable = 1 + Math.floor(deadlineMs / 2 / GAP_MS);
  const args = ['-n', '-c', String(Math.min(count, affordable)), '-i', String(GAP_MS / 1000), address];
  return new Promise((resolve) => {
    const child = execFile(
      command,
      args,
      { env: ENVIRONMENT, timeout: Math.ceil(deadlineMs) + GRACE_MS, killSignal: 'SIGKILL' },
      (_error, stdout) => {
        clearTimeout(deadline);
        // The exit status does not show whether ping failed (1 means "no reply" to one ping, any failure to another); a
        // missing count does.
        resolve(readPingOutput(stdout) ?? NOT_RUN);
      },
    );
    const deadline = setTimeout(() => child.kill('SIGINT'), deadlineMs);
  });
}
