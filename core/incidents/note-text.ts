/** The longest note, in characters (code points). */
export const MAX_NOTE = 4000;

/** Nothing but format characters and blanks. */
const INVISIBLE = /^[\p{Cf}\p{Z}\s]*$/u;

/**
 * A note made fit to be stored and shown: line breaks stay, every other control character becomes a blank, halves of
 * surrogate pairs the replacement character. Empty where nothing is left that can be seen.
 */
export function cleanNote(text: string): string {
  const clean = text
    .toWellFormed()
    .replaceAll(/\r\n?|\u2028|\u2029/g, '\n')
    .replaceAll(/[^\P{Cc}\n]/gu, ' ')
    .trim();
  return INVISIBLE.test(clean) ? '' : clean;
}
