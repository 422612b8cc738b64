/**
 * How deep a value may be nested to be compared (RFC 8259, 9, leaves the limit to the reader): one that is far deeper
 * is read, but cannot be written again as a text.
 */
const MAX_DEPTH = 1000;

/**
 * True for a JSON value that has arrays and objects in one another more than 1000 deep. Walks level by level: recursion
 * is what such values are made to break.
 */
export function isDeeplyNested(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    level = level.flatMap(contentsOf);
    if (level.length === 0) return false;
  }
  return true;
}

function contentsOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}
