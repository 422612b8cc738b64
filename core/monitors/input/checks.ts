/**
 * One thing that is wrong with a request: which field, and a sentence that names the field, what was expected and what
 * came.
 */
export type Problem = { field: string; message: string };

/** What comes of reading a request: the value, or everything that is wrong with it. */
export type Read<T> = { ok: true; value: T } | { ok: false; problems: Problem[] };

/** Reads one value. Adds to `problems` and returns undefined where it does not fit. */
export type Check<T> = (value: unknown, field: string, problems: Problem[]) => T | undefined;

/** The value that a check reads. */
export type Checked<C> = C extends Check<infer T> ? T : never;

/** Adds the problem `<field> must be <expected>, got <what came>`. Returns undefined, for a check to return. */
export function addProblem(problems: Problem[], field: string, sentence: { expected: string; got: string }): undefined {
  problems.push({ field, message: `${field} must be ${sentence.expected}, got ${sentence.got}` });
}

/**
 * A value as it stands in a message: its JSON, cut to 60 characters; lists and objects by their kind. Never for
 * secrets.
 */
export function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return kindOf(value);
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 60)}...` : json;
}

/** What kind of JSON value this is, for messages that must not show the value itself. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** How many characters a text has as PostgreSQL and JSON Schema count them: code points, so that an emoji is one. */
function countCharacters(value: string): number {
  return Array.from(value).length;
}

/**
 * Text of a length in characters. NUL and halves of surrogate pairs are refused: PostgreSQL stores neither. The text
 * itself is never shown.
 */
export function text({ min = 0, max = Infinity }: { min?: number; max?: number } = {}): Check<string> {
  const length =
    max === Infinity ? (min === 0 ? '' : ` of ${min} characters or more`) : ` of ${min} to ${max} characters`;
  return (value, field, problems) => {
    if (typeof value !== 'string')
      return addProblem(problems, field, { expected: `a text${length}`, got: kindOf(value) });
    const characters = value.length <= max ? value.length : countCharacters(value);
    if (characters < min || characters > max)
      return addProblem(problems, field, { expected: `a text${length}`, got: `${characters} characters` });
    return storable(value, field, problems);
  };
}

/** Text without NUL and halves of surrogate pairs, which no description of a shape tells apart from others. */
export function storable(value: string, field: string, problems: Problem[]): string | undefined {
  if (!value.includes('\0') && value.isWellFormed()) return value;
  return addProblem(problems, field, {
    expected: 'a text of Unicode characters',
    got: 'one with NUL or half a surrogate pair',
  });
}

/** Any text at all: for what is only looked up and never stored. */
export const anyText: Check<string> = (value, field, problems) =>
  typeof value === 'string' ? value : addProblem(problems, field, { expected: 'a text', got: kindOf(value) });

/** A whole number in a range, both ends included. */
export function integer({ min, max }: { min: number; max: number }): Check<number> {
  return (value, field, problems) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    return addProblem(problems, field, {
      expected: max === Infinity ? `a whole number of ${min} or more` : `a whole number from ${min} to ${max}`,
      got: show(value),
    });
  };
}

/** Exactly true or false. */
export const flag: Check<boolean> = (value, field, problems) =>
  typeof value === 'boolean' ? value : addProblem(problems, field, { expected: 'true or false', got: show(value) });

/** One of some words. */
export function oneOf<const Words extends readonly string[]>(words: Words): Check<Words[number]> {
  return (value, field, problems) =>
    words.find((word) => word === value) ??
    addProblem(problems, field, { expected: `one of ${words.join(', ')}`, got: show(value) });
}

/** The value, or null. */
export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, field, problems) => (value === null ? null : check(value, field, problems));
}

/** A list of at most `max` items; a bad item is named by its index. */
export function listOf<T>(item: Check<T>, max: number): Check<T[]> {
  return (value, field, problems) => {
    if (!Array.isArray(value)) return addProblem(problems, field, { expected: 'a list', got: kindOf(value) });
    if (value.length > max)
      return addProblem(problems, field, { expected: `a list of at most ${max} items`, got: String(value.length) });
    return value
      .map((entry, index) => item(entry, `${field}[${index}]`, problems))
      .filter((entry) => entry !== undefined);
  };
}

/** What an object with these checks reads as; every key may be missing. */
export type Shape<Checks extends Record<string, Check<unknown>>> = { [Key in keyof Checks]?: Checked<Checks[Key]> };

/** True for an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * An object with known keys only (D-06); an unknown one is named. An empty field stands for the request's body itself.
 */
export function shape<Checks extends Record<string, Check<unknown>>>(checks: Checks): Check<Shape<Checks>> {
  return (value, field, problems) => {
    if (!isRecord(value))
      return addProblem(problems, field === '' ? 'the body' : field, { expected: 'an object', got: kindOf(value) });
    const read: Record<string, unknown> = {};
    for (const [key, entry] of Object.entries(value)) {
      const path = field === '' ? key || '""' : `${field}.${key}`;
      const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
      if (check === undefined) problems.push({ field: path, message: `${path} is not a known field` });
      else if (entry !== undefined) read[key] = check(entry, path, problems);
    }
    // Each value came out of the check of its own key.
    return read as Shape<Checks>;
  };
}
