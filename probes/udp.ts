import type { UdpObservation } from '../core/checks/transport/observation.ts';
import { readPayload } from '../core/checks/transport/payload.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { parseHostPort } from '../net/host-address.ts';
import { createUdpClient, type UdpExchange } from '../net/udp-exchange.ts';
import type { ProbeEnvironment } from './http.ts';

/**
 * Creates the udp probe: one datagram, empty without a payload, and its first reply (D-24). The probe rejects only if
 * this machine lacks resources.
 */
export function createUdpProbe(environment: ProbeEnvironment): (target: CheckTarget) => Promise<UdpObservation> {
  const send = createUdpClient(environment);
  return async (target) => {
    const startedAt = Date.now();
    const hostPort = parseHostPort(target.target);
    if (hostPort === null) return unsupported(startedAt, 'The target is not host:port');
    const payload = readPayload(target);
    if (!payload.ok) return unsupported(startedAt, `The payload ${payload.message}`);
    return observe(startedAt, await send({ ...hostPort, payload: payload.value, deadlineMs: target.timeoutMs }));
  };
}

function observe(startedAt: number, exchange: UdpExchange): UdpObservation {
  const { dnsMs } = exchange;
  const measured = { type: 'udp', startedAt, dnsMs } as const;
  switch (exchange.outcome) {
    case 'replied':
      return {
        ...measured,
        outcome: 'replied',
        latencyMs: exchange.roundTripMs,
        reply: decodeAnswer(exchange.reply),
        replyBytes: exchange.reply.toString('latin1'),
      };
    case 'silent':
      return { ...measured, outcome: 'silent', latencyMs: null, isRefused: exchange.isRefused };
    case 'failed':
      return { ...measured, outcome: 'failed', latencyMs: null, cause: exchange.cause, reason: exchange.reason };
    default:
      return exchange satisfies never;
  }
}

/** Decodes a datagram. It is not a file: a byte-order mark is part of it like any other bytes. */
function decodeAnswer(reply: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(reply);
}

function unsupported(startedAt: number, reason: string): UdpObservation {
  return { type: 'udp', startedAt, dnsMs: null, outcome: 'failed', latencyMs: null, cause: 'unsupported', reason };
}
