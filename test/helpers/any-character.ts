import { integer } from 'fast-check';

const SURROGATES_START = 0xd8_00;
const SURROGATES = 0x8_00;
const LAST = 0x10_ff_ff;

/**
 * Generates any single character. It equals `unit: 'binary'`, without the table of a million characters that takes
 * fast-check a second to build.
 */
export const anyCharacter = integer({ min: 0, max: LAST - SURROGATES }).map(characterAt, positionOf);

function characterAt(position: number): string {
  return String.fromCodePoint(position < SURROGATES_START ? position : position + SURROGATES);
}

/** Inverts `characterAt`, as shrinking requires; throws if `text` is not a single character, as fast-check expects. */
function positionOf(text: unknown): number {
  const [character, ...more] = typeof text === 'string' ? text : '';
  const point = character?.codePointAt(0);
  if (point === undefined || more.length > 0 || character?.isWellFormed() !== true)
    throw new TypeError('Not one character');
  return point < SURROGATES_START ? point : point - SURROGATES;
}
