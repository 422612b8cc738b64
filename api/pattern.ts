import { RE2JS } from 're2js';

/** True for a pattern that RE2 accepts: linear time, so no back-references and no look-around (D-22). */
export function isValidPattern(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}
