/**
 * What comes of reading foreign text: the value, or a sentence that says what is wrong with it (shown to customers in a
 * 400).
 */
export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

/** Wraps a value that was read without complaint. */
export function accepted<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** Wraps the complaint about a text that cannot be read. */
export function refused(message: string): { ok: false; message: string } {
  return { ok: false, message };
}
