import { addProblem, isRecord, kindOf, type Check, type Problem, type Shape } from '../monitors/input/checks.ts';

/**
 * Reads the fields of an object that we know and ignores all others: agents of other makers send more. Null is as good
 * as absent. An empty field stands for the request's body itself; undefined where the value is no object.
 */
export function readKnownFields<Checks extends Record<string, Check<unknown>>>(
  checks: Checks,
  { value, field }: { value: unknown; field: string },
  problems: Problem[],
): Shape<Checks> | undefined {
  if (!isRecord(value))
    return addProblem(problems, field === '' ? 'the body' : field, { expected: 'an object', got: kindOf(value) });
  const read: Record<string, unknown> = {};
  for (const [key, check] of Object.entries(checks)) {
    const entry = Object.hasOwn(value, key) ? value[key] : undefined;
    if (entry !== undefined && entry !== null)
      read[key] = check(entry, field === '' ? key : `${field}.${key}`, problems);
  }
  // Each value came out of the check of its own key.
  return read as Shape<Checks>;
}

/** A text of any length and content, which is cleaned before it is stored. */
export const looseText: Check<string> = (value, field, problems) =>
  typeof value === 'string' ? value : addProblem(problems, field, { expected: 'a text', got: kindOf(value) });
