/** One fault of a request: the field, and a sentence with its name, the expected value and the actual one. */
export type Problem = { field: string; message: string };

/** Result of reading a request: the value, or all of the faults in it. */
export type Read<T> = { ok: true; value: T } | { ok: false; problems: Problem[] };

/** Reads one value. Adds to `problems` and returns undefined if it is invalid. */
export type Check<T> = (value: unknown, field: string, problems: Problem[]) => T | undefined;

/** Adds the problem `<field> must be <expected>, got <actual>`. Returns undefined, for a check to return. */
export function addProblem(problems: Problem[], field: string, sentence: { expected: string; got: string }): undefined {
  problems.push({ field, message: `${field} must be ${sentence.expected}, got ${sentence.got}` });
}

/** Shows a value in a message: its JSON, cut to 60 characters; lists and objects by their kind. Never for secrets. */
export function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return kindOf(value);
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 60)}...` : json;
}

/** Names the kind of a JSON value, for messages that must not show the value itself. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Counts the characters of a text as PostgreSQL and JSON Schema do: in code points, so that an emoji is one. */
export function countCharacters(value: string): number {
  return Array.from(value).length;
}

/**
 * Accepts a text of 1 to `max` characters. Rejects NUL and lone surrogates, which PostgreSQL cannot store. The text
 * itself is never shown.
 */
export function text(max: number): Check<string> {
  const expected = `a string of 1 to ${max} characters`;
  return (value, field, problems) => {
    if (typeof value !== 'string') return addProblem(problems, field, { expected, got: kindOf(value) });
    const characters = value.length <= max ? value.length : countCharacters(value);
    if (characters < 1 || characters > max)
      return addProblem(problems, field, { expected, got: `${characters} characters` });
    return storable(value, field, problems);
  };
}

/** Accepts text without NUL and lone surrogates, which no schema can exclude. */
function storable(value: string, field: string, problems: Problem[]): string | undefined {
  if (!value.includes('\0') && value.isWellFormed()) return value;
  return addProblem(problems, field, {
    expected: 'a string of Unicode characters',
    got: 'one with NUL or an unpaired surrogate',
  });
}

/**
 * Adds a problem for each text in a value that cannot be stored, in the order sent. Skips the fields of `except`, which
 * are only used for lookups.
 */
export function findUnstorable(
  value: unknown,
  { field, except }: { field: string; except: readonly string[] },
  problems: Problem[],
): void {
  if (except.includes(field)) return;
  if (typeof value === 'string') storable(value, field, problems);
  else if (Array.isArray(value))
    for (const [index, item] of value.entries())
      findUnstorable(item, { field: `${field}[${index}]`, except }, problems);
  else if (isRecord(value))
    for (const [key, entry] of Object.entries(value))
      findUnstorable(entry, { field: field === '' ? key : `${field}.${key}`, except }, problems);
}

/** Reports whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
