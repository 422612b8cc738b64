import { RE2JS } from 're2js';
import { forgetOldest } from '../core/bounded-map.ts';
import type { PatternSearch } from '../core/checks/http/assertion-check.ts';

// Compiling takes 0.1 to 8 ms, and a compiled pattern holds up to 8 MB after searching much text.
const MAX_COMPILED = 256;

// Linear time is instructions times characters: 12 ns for each pair with most patterns, 90 ns with classes of letters.
// 500 instructions on 1 MiB would take seconds. Large patterns search only the start of a long text; patterns of up to
// 16 instructions search all of it.
const MAX_WORK = 16 * 1024 * 1024;

/**
 * Creates the search for RE2 patterns (D-22): true if the pattern is found anywhere in the text. A pattern of more than
 * 16 instructions is searched for in the first 16,777,216 / instructions characters. Keeps recently used patterns
 * compiled; throws for a pattern that RE2 refuses.
 */
export function createPatternSearch(): PatternSearch {
  const compiled = new Map<string, RE2JS>();
  return (pattern, text) => {
    const regex = compiled.get(pattern) ?? RE2JS.compile(pattern);
    // A search may be interrupted at any point (D-300): the pattern is kept only if it completes.
    compiled.delete(pattern);
    const isFound = regex.test(text.slice(0, Math.ceil(MAX_WORK / regex.programSize())));
    compiled.set(pattern, regex);
    forgetOldest(compiled, MAX_COMPILED);
    return isFound;
  };
}
