import type { PatternSearch } from '../core/checks/http/assertion-check.ts';
import { WORK_PER_MS, measureSearch } from '../core/checks/judge.ts';
import type { TcpObservation } from '../core/checks/transport/observation.ts';
import { readExpectedBytes, readPayload, type AnswerExpectation } from '../core/checks/transport/payload.ts';
import { NO_TIMINGS } from '../core/checks/verdict.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { parseHostPort } from '../net/host-address.ts';
import { createTcpClient } from '../net/tcp-exchange.ts';
import type { ProbeEnvironment } from './http.ts';
import { createPatternSearch } from './pattern-search.ts';

/** Maximum bytes kept of a response (D-23). */
const MAX_BYTES = 4096;

// A response in single bytes would require searching ever longer texts, eight million characters in all, and the
// largest patterns take 0.2 ms a character, on the event loop. Text that is not searched on arrival is left to the
// judgement, which reads the whole response.
const MAX_SEARCHED_CHARACTERS = 8 * 1024;
const MAX_SEARCHING_WORK = 2 * WORK_PER_MS;

/**
 * Collects a response piece by piece until it contains the expected text or reaches the maximum length. A character
 * split over two pieces is decoded whole.
 */
export class TcpAnswerReader {
  readonly #expectation: AnswerExpectation;
  /** Null if text or a pattern is expected. */
  readonly #expectedBytes: string | null;
  readonly #search: PatternSearch;
  // A stream is not a file: a byte-order mark is part of the response like any other bytes.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #text = '';
  #bytes = '';
  #byteLength = 0;
  #searchable = MAX_SEARCHED_CHARACTERS;
  #workLeft = MAX_SEARCHING_WORK;

  constructor(expectation: AnswerExpectation, search: PatternSearch) {
    this.#expectation = expectation;
    this.#expectedBytes = readExpectedBytes(expectation);
    this.#search = search;
  }

  /** Adds a piece; returns true if no more is needed. */
  add(piece: Uint8Array): boolean {
    const taken = piece.subarray(0, MAX_BYTES - this.#byteLength);
    const before = this.#text.length;
    this.#byteLength += taken.length;
    this.#text += this.#decoder.decode(taken, { stream: true });
    this.#bytes += Buffer.from(taken).toString('latin1');
    return this.#byteLength === MAX_BYTES || this.#isExpected(before, this.#byteLength - taken.length);
  }

  /** Returns the collected response, without the beginning of an incomplete character. */
  collected(): { text: string; bytes: string; byteLength: number } {
    return { text: this.#text, bytes: this.#bytes, byteLength: this.#byteLength };
  }

  #isExpected(before: number, bytesBefore: number): boolean {
    const { expect, expectMode } = this.#expectation;
    if (!expect) return true;
    // A match within the earlier part would have been found before.
    if (this.#expectedBytes !== null)
      return this.#bytes.includes(this.#expectedBytes, bytesBefore - this.#expectedBytes.length + 1);
    if (expectMode !== 'regex') return this.#text.includes(expect, before - expect.length + 1);
    this.#searchable -= this.#text.length;
    if (this.#searchable < 0 || this.#workLeft < 0) return false;
    this.#workLeft -= measureSearch(expect, this.#text);
    return this.#workLeft >= 0 && this.#search(expect, this.#text);
  }
}

/**
 * Creates the tcp probe: one connection, the payload sent, and data read if a response is expected (D-23). The probe
 * rejects only if this machine lacks resources.
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
    // If no response is expected, the probe does not wait for one.
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
