const MAX_SHOWN = 60;
const UNPRINTABLE = /[\s\p{Cc}]+/gu;

/**
 * A foreign text between quotes, fit for a sentence that people read and a database stores: one line, at most 60
 * characters, no control characters and no halves of a pair.
 */
export function quote(text: string): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return `"${shown.replaceAll(UNPRINTABLE, ' ').toWellFormed()}"`;
}
