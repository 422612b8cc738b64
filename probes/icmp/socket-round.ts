import { failureOf } from '../../net/failure.ts';
import { startDeadline } from '../../net/timeline.ts';
import { gapMs, type EchoOutcome, type EchoRound } from './echo-means.ts';
import type { EchoSocket } from './echo-socket.ts';

/**
 * Measures one round over a socket: request after request at a fixed gap, done with the last reply or at the deadline.
 */
export function measureOverSocket(socket: EchoSocket, round: EchoRound): Promise<EchoOutcome> {
  return new Promise((resolve, reject) => {
    new SocketRound({ socket, round, resolve, reject }).start();
  });
}

type Settlement = {
  socket: EchoSocket;
  round: EchoRound;
  resolve: (outcome: EchoOutcome) => void;
  reject: (error: Error) => void;
};

class SocketRound {
  readonly #socket: EchoSocket;
  readonly #round: EchoRound;
  readonly #resolve: Settlement['resolve'];
  readonly #reject: Settlement['reject'];
  readonly #roundTripsMs: number[] = [];
  readonly #forget: (() => void)[] = [];
  #sent = 0;
  #gap: NodeJS.Timeout | undefined;
  #callOffDeadline: () => void = () => {};

  constructor({ socket, round, resolve, reject }: Settlement) {
    this.#socket = socket;
    this.#round = round;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { count, deadlineMs } = this.#round;
    this.#callOffDeadline = startDeadline(deadlineMs, () => this.#finish());
    if (count > 1) this.#gap = setInterval(() => this.#sendNext(), gapMs(this.#round));
    this.#sendNext();
  }

  #sendNext(): void {
    this.#forget.push(
      this.#socket.send({
        address: this.#round.address,
        onSent: () => {
          this.#sent += 1;
        },
        onReply: (roundTripMs) => this.#receive(roundTripMs),
        onError: (error) => this.#lose(error),
      }),
    );
    if (this.#forget.length === this.#round.count) clearInterval(this.#gap);
  }

  #receive(roundTripMs: number): void {
    this.#roundTripsMs.push(roundTripMs);
    if (this.#roundTripsMs.length === this.#round.count) this.#finish();
  }

  /** Once the target has answered, a request that cannot be sent is one that is lost. */
  #lose(error: Error): void {
    if (this.#roundTripsMs.length > 0) return;
    this.#stop();
    const refusal = REFUSALS[(error as NodeJS.ErrnoException).code ?? ''] ?? failedSend(error);
    if (refusal === null) this.#reject(error);
    else this.#resolve(refusal);
  }

  #finish(): void {
    this.#stop();
    // A busy machine may reach the deadline before all requests are out; what went out is what was measured.
    this.#resolve(
      this.#sent === 0 ? BUSY : { outcome: 'measured', sent: this.#sent, roundTripsMs: this.#roundTripsMs },
    );
  }

  #stop(): void {
    clearInterval(this.#gap);
    this.#callOffDeadline();
    for (const forget of this.#forget) forget();
  }
}

const BUSY: EchoOutcome = { outcome: 'unavailable', reason: 'The probing machine was too busy to send echo requests' };

/** What a kernel's refusal to send says that is particular to echo requests. */
const REFUSALS: Readonly<Record<string, EchoOutcome>> = {
  EPERM: { outcome: 'unavailable', reason: 'A firewall on the probing machine blocks echo requests' },
  EACCES: {
    outcome: 'failed',
    cause: 'unsupported',
    reason: 'The target is a broadcast address, not a single host',
  },
};

function failedSend(error: Error): EchoOutcome | null {
  const failure = failureOf(error, 'connect');
  return failure === null ? null : { outcome: 'failed', ...failure };
}
