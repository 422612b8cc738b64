import { accepted, quote, refused, type Parsed } from '../../foreign-text.ts';
import type { CheckTarget, TransportSpec } from '../../monitors/monitor.ts';
import type { PatternSearch } from '../http/assertion-check.ts';
import { containsText } from '../pattern.ts';

/** How the text of a payload stands for bytes. */
export type PayloadEncoding = 'utf8' | 'hex';

/**
 * The most that one datagram carries over IPv4, in bytes: 65,535 less the headers of IP and UDP (RFC 768, RFC 791).
 * Payloads of tcp keep to it, too.
 */
export const MAX_PAYLOAD_BYTES = 65_507;

const HEX = /^(?:[\da-f]{2})*$/i;
const SHORT_ESCAPES: Readonly<Record<string, number>> = { r: 0x0d, n: 0x0a, t: 0x09, '\\': 0x5c };
// In this order each piece is: an escaped byte, a short escape, a backslash that begins neither, plain text.
const PIECES = /\\x([\da-fA-F]{2})|\\([rnt\\])|(\\)|[^\\]+/g;

/**
 * The bytes of a payload. `utf8`: a character is its UTF-8 bytes, `\r`, `\n`, `\t`, `\\` and `\xHH` are one byte each
 * (D-24). `hex`: pairs of hexadecimal digits. The message of a refusal is the rest of a sentence that begins with the
 * field, and shows nothing of the payload, which may be secret.
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

/** The part of a transport that an answer is held against. */
export type AnswerExpectation = Pick<TransportSpec, 'expect' | 'expectMode' | 'payloadEncoding'>;

/** What arrived, read as UTF-8, and byte by byte as Latin-1. */
type ArrivedAnswer = { text: string; bytes: string };

/**
 * True when an answer has what is expected of it. That is a case-sensitive substring, beside a payload in hex a run of
 * bytes (D-65), and under `regex` what an unanchored RE2 search finds. Where nothing is expected every answer will do.
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
 * The bytes that an answer must contain, as Latin-1; null where text or a pattern is expected, as in digits that are no
 * hex.
 */
export function readExpectedBytes({ expect, expectMode, payloadEncoding }: AnswerExpectation): string | null {
  if (!expect || expectMode === 'regex' || payloadEncoding !== 'hex') return null;
  const read = decodePayload(expect, 'hex');
  return read.ok ? String.fromCharCode(...read.value) : null;
}

/**
 * What an answer lacks, as the end of a sentence that begins with it. It says what was expected and never what came,
 * which may hold secrets of the payload.
 */
export function explainMismatch({ expect = '', expectMode }: AnswerExpectation): string {
  return `does not ${expectMode === 'regex' ? 'match' : 'contain'} ${quote(expect)}`;
}

/**
 * The bytes that a tcp or udp check sends, a secret payload opened; empty where it sends nothing. Refused where the
 * stored text does not fit its encoding.
 */
export function readPayload({ checkSpec, secrets }: CheckTarget): Parsed<Uint8Array> {
  const { payload, payloadEncoding = 'utf8', payloadSecret } = checkSpec.transport ?? {};
  return decodePayload((payloadSecret ? secrets.payload : payload) ?? '', payloadEncoding);
}
