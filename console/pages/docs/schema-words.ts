import { follow, type Description, type Schema } from './description.ts';

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'object',
  array: 'list',
  null: 'null',
};

/** What a value is, in a few words: `text or null`, `list of whole number`. */
export function describeType(description: Description, schema: Schema): string {
  const whole = follow(description, schema);
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (whole.enum !== undefined) return whole.enum.map((value) => JSON.stringify(value)).join(', ');
  const options = whole.oneOf ?? (whole.type === undefined ? whole.anyOf : undefined);
  if (options !== undefined) return unique(options.map((option) => describeType(description, option))).join(' or ');
  if (whole.type === undefined) return 'anything';
  const types = typeof whole.type === 'string' ? [whole.type] : whole.type;
  return types
    .map((type) =>
      type === 'array' && whole.items !== undefined
        ? `list of ${describeType(description, whole.items)}`
        : (WORDS[type] ?? type),
    )
    .join(' or ');
}

/** What a value has to keep to: `1 to 255 characters`; empty where there is nothing. */
export function describeLimits(description: Description, schema: Schema): string {
  const { minLength, maxLength, minimum, exclusiveMinimum, maximum, minItems, maxItems, pattern } = follow(
    description,
    schema,
  );
  return [
    range(minLength, maxLength, ' characters'),
    range(minimum, maximum, ''),
    exclusiveMinimum === undefined ? '' : `more than ${exclusiveMinimum}`,
    range(minItems, maxItems, ' entries'),
    pattern === undefined ? '' : `matches ${pattern}`,
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** The objects that a value can be, itself or in a list, each with its fields; empty where it is none. */
export function listObjects(description: Description, schema: Schema): Schema[] {
  const whole = follow(description, schema);
  if (whole.properties !== undefined) return [whole];
  const parts = [
    ...(whole.oneOf ?? []),
    ...(whole.anyOf ?? []),
    ...(whole.items === undefined ? [] : [whole.items]),
    ...(typeof whole.additionalProperties === 'object' ? [whole.additionalProperties] : []),
  ];
  return parts.flatMap((part) => listObjects(description, part));
}

function range(from: number | undefined, to: number | undefined, unit: string): string {
  if (from === undefined) return to === undefined ? '' : `${to.toLocaleString('en')}${unit} at most`;
  if (to === undefined) return from === 0 ? '' : `${from.toLocaleString('en')}${unit} at least`;
  return `${from.toLocaleString('en')} to ${to.toLocaleString('en')}${unit}`;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
