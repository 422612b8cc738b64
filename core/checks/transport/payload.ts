import { accepted, quote, refused, type Parsed } from '../../foreign-text.ts';
import type { CheckTarget, TransportSpec } from '../../monitors/monitor.ts';
import type { PatternSearch } from '../http/assertion-check.ts';
import { containsText } from '../pattern.ts';

/** Encoding of a payload's bytes as text. */
export type PayloadEncoding = 'utf8' | 'hex';

/**
 * Maximum size of one datagram over IPv4, in bytes: 65,535 less the headers of IP and UDP (RFC 768, RFC 791). It also
 * applies to payloads of tcp.
 */
export const MAX_PAYLOAD_BYTES = 65_507;

const HEX = /^(?:[\da-f]{2})*$/i;
const SHORT_ESCAPES: Readonly<Record<string, number>> = { r: 0x0d, n: 0x0a, t: 0x09, '\\': 0x5c };
// Pieces in this order: an escaped byte, a short escape, a backslash that begins neither, plain text.
const PIECES = /\\x([\da-fA-F]{2})|\\([rnt\\])|(\\)|[^\\]+/g;

/**
 * Decodes the bytes of a payload. `utf8`: a character is its UTF-8 bytes, `\r`, `\n`, `\t`, `\\` and `\xHH` are one
 * byte each (D-24). `hex`: pairs of hexadecimal digits. The message of a refusal is the rest of a sentence that begins
 * with the field, and shows nothing of the payload, which may be secret.
 */
export function decodePayload(payload: string, encoding: PayloadEncoding): Parsed<Uint8Array> {
  const bytes = DECODERS[encoding](payload);
  if (!bytes.ok || bytes.value.length <= MAX_PAYLOAD_BYTES) return bytes;
  return refused(
    `must be at most ${MAX_PAYLOAD_BYTES} bytes, which is what one datagram holds, got ${bytes.value.length}`,
  );
}

const DECODERS = { utf8: decodeText, hex: decodeHex } satisfies Record<
  PayloadEncoding,
  (payload: string) => Parsed<Uint8Array>
>;

function decodeHex(payload: string): Parsed<Uint8Array> {
  if (!HEX.test(payload)) return refused('must be pairs of hexadecimal digits, got something else');
  return accepted(
    Uint8Array.from({ length: payload.length / 2 }, (_, index) =>
      Number.parseInt(payload.slice(index * 2, index * 2 + 2), 16),
    ),
  );
}

function decodeText(payload: string): Parsed<Uint8Array> {
  const encoder = new TextEncoder();
  const bytes: number[] = [];
  for (const match of payload.matchAll(PIECES)) {
    const [text, hexByte, short, backslash] = match;
    if (backslash !== undefined) {
      return refused(
        `must have only the escapes \\r, \\n, \\t, \\\\ and \\xHH with two hexadecimal digits, got another at ` +
          `character ${match.index + 1}`,
      );
    }
    if (hexByte !== undefined) bytes.push(Number.parseInt(hexByte, 16));
    else if (short !== undefined) bytes.push(SHORT_ESCAPES[short] ?? 0);
    else for (const byte of encoder.encode(text)) bytes.push(byte);
  }
  return accepted(Uint8Array.from(bytes));
}

/** The fields of a transport that describe the expected response. */
export type AnswerExpectation = Pick<TransportSpec, 'expect' | 'expectMode' | 'payloadEncoding'>;

/** Received data, decoded as UTF-8, and byte by byte as Latin-1. */
type ArrivedAnswer = { text: string; bytes: string };

/**
 * Reports whether a response contains the expected content. That is a case-sensitive substring, with a payload in hex a
 * run of bytes (D-65), and under `regex` a match of an unanchored RE2 search. Without an expectation every response is
 * accepted.
 */
export function isExpectedAnswer(
  expectation: AnswerExpectation,
  { text, bytes }: ArrivedAnswer,
  search: PatternSearch,
): boolean {
  const { expect, expectMode } = expectation;
  if (!expect) return true;
  if (expectMode === 'regex') return search(expect, text);
  const expectedBytes = readExpectedBytes(expectation);
  return expectedBytes === null ? containsText(text, expect) : containsText(bytes, expectedBytes);
}

/**
 * Returns the bytes that a response must contain, as Latin-1; null if text or a pattern is expected, or the digits are
 * not hex.
 */
export function readExpectedBytes({ expect, expectMode, payloadEncoding }: AnswerExpectation): string | null {
  if (!expect || expectMode === 'regex' || payloadEncoding !== 'hex') return null;
  const read = decodePayload(expect, 'hex');
  return read.ok ? String.fromCharCode(...read.value) : null;
}

/**
 * Explains a mismatch, as the end of a sentence about the response. It contains the expected text and never the
 * received one, which may repeat secrets of the payload.
 */
export function explainMismatch({ expect = '', expectMode }: AnswerExpectation): string {
  return `does not ${expectMode === 'regex' ? 'match' : 'contain'} ${quote(expect)}`;
}

/**
 * Returns the bytes that a tcp or udp check sends, with a secret payload decrypted; empty if it sends nothing. Refused
 * if the stored text does not fit its encoding.
 */
export function readPayload({ checkSpec, secrets }: CheckTarget): Parsed<Uint8Array> {
  const { payload, payloadEncoding = 'utf8', payloadSecret } = checkSpec.transport ?? {};
  return decodePayload((payloadSecret ? secrets.payload : payload) ?? '', payloadEncoding);
}
