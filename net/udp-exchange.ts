import dgram from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import type { Guard } from './address-guard.ts';
import { failureOf, type Failure } from './failure.ts';
import { resolveHost, type HostPort } from './host-address.ts';
import { startDeadline } from './timeline.ts';

/** One datagram, which may be empty, and the wait for its reply. */
type UdpRequest = HostPort & {
  payload: Uint8Array;
  /** Timeout of lookup and reply together, in milliseconds. */
  deadlineMs: number;
  /** An abort brings the deadline forward. */
  signal?: AbortSignal;
};

/** The first datagram received, and the milliseconds until then. */
type UdpReply = { outcome: 'replied'; reply: Buffer; roundTripMs: number };

/** No reply arrived; `isRefused` if the host reported that no service listens on the port. */
type UdpSilence = { outcome: 'silent'; isRefused: boolean };

/** Result of a datagram; `dnsMs` is null if nothing was looked up. */
export type UdpExchange = (UdpReply | UdpSilence | ({ outcome: 'failed' } & Failure)) & { dnsMs: number | null };

/**
 * Sends one datagram. Failures of the other side are values; it rejects only if this machine lacks resources
 * (descriptors, ports).
 */
type UdpClient = (request: UdpRequest) => Promise<UdpExchange>;

/**
 * Creates the client for datagrams; without `allowPrivateNetwork` it reaches public addresses only (D-30). Of a name
 * with several addresses the first is queried, and the next only if that one cannot be reached or has no service on the
 * port.
 */
export function createUdpClient(guard: Guard): UdpClient {
  return async (request) => {
    const endsAt = performance.now() + request.deadlineMs;
    const { deadlineMs, signal } = request;
    const host = await resolveHost(request.host, { ...guard, deadlineMs, ...(signal && { signal }) });
    if (host.outcome === 'failed') return { ...host, dnsMs: null };

    let answer: Answer = SILENT;
    for (const address of host.addresses) {
      answer = await ask(address, { ...request, deadlineMs: endsAt - performance.now() });
      if (answer.outcome !== 'lost') break;
    }
    return { ...(answer.outcome === 'lost' ? explainLoss(answer.error) : answer), dnsMs: host.dnsMs };
  };
}

type Answer = UdpReply | UdpSilence | { outcome: 'lost'; error: NodeJS.ErrnoException };

const SILENT: UdpSilence = { outcome: 'silent', isRefused: false };

function ask({ address, family }: LookupAddress, { port, payload, deadlineMs, signal }: UdpRequest): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = dgram.createSocket(family === 6 ? 'udp6' : 'udp4');
    const finish = (answer: Answer): void => {
      callOff();
      for (const event of ['connect', 'message', 'error']) socket.removeAllListeners(event);
      // A later 'error' event without a listener would crash the process.
      socket.on('error', () => {});
      socket.close();
      resolve(answer);
    };
    const callOff = startDeadline(deadlineMs, () => finish(SILENT), signal);
    let sentAt = 0;
    socket.on('error', (error) => finish({ outcome: 'lost', error }));
    socket.on('message', (reply) => finish({ outcome: 'replied', reply, roundTripMs: performance.now() - sentAt }));
    socket.on('connect', () => {
      sentAt = performance.now();
      socket.send(payload);
    });
    // On a connected socket the system drops datagrams from any other address or port, and reports a closed port.
    socket.connect(port, address);
  });
}

function explainLoss(error: NodeJS.ErrnoException): UdpSilence | ({ outcome: 'failed' } & Failure) {
  if (error.code === 'ECONNREFUSED') return { outcome: 'silent', isRefused: true };
  const failure = failureOf(error, 'connect');
  if (failure === null) throw error;
  return { outcome: 'failed', ...failure };
}
