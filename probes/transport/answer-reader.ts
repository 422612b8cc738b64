import type { PatternSearch } from '../../core/http/assertion-check.ts';
import { isExpectedAnswer } from '../../core/transport/expected-answer.ts';
import type { AnswerExpectation } from '../../core/transport/expected-answer.ts';

/** D-23: no more of an answer is held than this. */
const MAX_BYTES = 4096;

// An answer in single bytes would have the pattern searched for in ever longer texts, eight million characters in all, and the largest
// patterns take 0.2 ms for a character. What is not searched on arrival is left to the verdict, which sees the whole answer.
const MAX_SEARCHED_CHARACTERS = 8 * 1024;

/** Collects an answer piece by piece until it has what is expected or is as long as may be. A character that is split over two pieces is read whole. */
export class TcpAnswerReader {
  readonly #expectation: AnswerExpectation;
  readonly #search: PatternSearch;
  // A stream is no file: the bytes of a byte-order mark are part of the answer like any others.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #text = '';
  #byteLength = 0;
  #searchable = MAX_SEARCHED_CHARACTERS;

  constructor(expectation: AnswerExpectation, search: PatternSearch) {
    this.#expectation = expectation;
    this.#search = (pattern, text) => {
      this.#searchable -= text.length;
      return this.#searchable >= 0 && search(pattern, text);
    };
  }

  /** True when no more is needed. */
  add(piece: Uint8Array): boolean {
    const kept = piece.subarray(0, MAX_BYTES - this.#byteLength);
    this.#byteLength += kept.length;
    this.#text += this.#decoder.decode(kept, { stream: true });
    return this.#byteLength === MAX_BYTES || isExpectedAnswer(this.#expectation, this.#text, this.#search);
  }

  /** What was collected, without the beginning of a character whose end has not come. */
  collected(): { text: string; byteLength: number } {
    return { text: this.#text, byteLength: this.#byteLength };
  }
}
