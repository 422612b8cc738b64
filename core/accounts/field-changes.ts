/** Settings by their names on the wire. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * What a change did, by field: what was there before and after, null = nothing, which an empty text is as well. Of a
 * secret only that it changed.
 */
export type FieldChanges = Readonly<Record<string, readonly [before: unknown, after: unknown] | 'changed'>>;

/** What is compared; null where there was nothing before, or is nothing any more. `secrets` never show. */
export type Compared = { fields: Fields | null; secrets?: Fields };

/** The JSON of a value in an entry is cut after this many characters: a body of 100 kB needs no second copy. */
const LONGEST = 1000;

/**
 * The fields that differ, in the order of the older side. Settings inside settings are fields of their own, such as
 * `check_spec.ping.count`; lists are compared as a whole.
 */
export function compareFields(before: Compared, after: Compared): FieldChanges {
  const [old, now] = [flatten(before.fields), flatten(after.fields)];
  const [oldSecrets, nowSecrets] = [flatten(before.secrets ?? null), flatten(after.secrets ?? null)];
  const changes: Record<string, FieldChanges[string]> = {};
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const pair: [unknown, unknown] = [old.get(name) ?? null, now.get(name) ?? null];
    if (differ(...pair)) changes[name] = [cut(pair[0]), cut(pair[1])];
  }
  for (const name of new Set([...oldSecrets.keys(), ...nowSecrets.keys()])) {
    if (differ(oldSecrets.get(name) ?? null, nowSecrets.get(name) ?? null)) changes[name] = 'changed';
  }
  return changes;
}

/** The changes of something that came to be: everything that it has. */
export function madeWith(fields: Fields, secrets: Fields = {}): FieldChanges {
  return compareFields({ fields: null }, { fields, secrets });
}

/** The changes of something that is gone: everything that it had. */
export function goneWith(fields: Fields): FieldChanges {
  return compareFields({ fields }, { fields: null });
}

function flatten(fields: Fields | null, into = new Map<string, unknown>(), prefix = ''): Map<string, unknown> {
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      flatten(value as Fields, into, `${prefix}${name}.`);
    else if (value !== '') into.set(`${prefix}${name}`, value);
  }
  return into;
}

function differ(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

function cut(value: unknown): unknown {
  if (typeof value !== 'string' && !Array.isArray(value)) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST ? value : `${text.slice(0, LONGEST)}…`;
}
