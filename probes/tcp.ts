import type { CheckTarget } from '../core/monitor.ts';
import type { TcpObservation } from '../core/transport/tcp-observation.ts';
import type { Timings } from '../core/verdict.ts';
import { parseHostPort } from '../net/host-port.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';
import type { ProbeEnvironment } from './http.ts';
import { createPatternSearch } from './pattern-search.ts';
import { TcpAnswerReader } from './transport/answer-reader.ts';
import { readPayload } from './transport/payload.ts';

/**
 * Makes the tcp probe: one connection, the payload sent, and what arrives read while an answer is expected (D-23). The
 * probe rejects only where our own machine lacks something.
 */
export function createTcpProbe(environment: ProbeEnvironment): (target: CheckTarget) => Promise<TcpObservation> {
  const exchange = createTcpClient(environment);
  const search = createPatternSearch();
  return async (target) => {
    const startedAt = Date.now();
    const hostPort = parseHostPort(target.target);
    if (hostPort === null) return unsupported(startedAt, 'The target is not host:port');
    const payload = readPayload(target);
    if (!payload.ok) return unsupported(startedAt, `The payload ${payload.message}`);

    const { transport } = target.checkSpec;
    // Where nothing is expected, nothing is waited for.
    const reader = transport?.expect ? new TcpAnswerReader(transport, search) : null;
    const receive = reader && ((piece: Buffer) => reader.add(piece));
    const { timings, ...outcome } = await exchange({
      ...hostPort,
      payload: payload.value,
      receive,
      deadlineMs: target.timeoutMs,
    });
    const measured = { type: 'tcp', startedAt, timings } as const;
    if (outcome.outcome === 'failed') return { ...measured, ...outcome, latencyMs: null };
    const { end, latencyMs } = outcome;
    return { ...measured, outcome: 'connected', latencyMs, answer: reader && { ...reader.collected(), end } };
  };
}

const NO_TIMINGS: Timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, downloadMs: null };

function unsupported(startedAt: number, reason: string): TcpObservation {
  return {
    type: 'tcp',
    startedAt,
    timings: NO_TIMINGS,
    outcome: 'failed',
    latencyMs: null,
    cause: 'unsupported',
    reason,
  };
}
