/** A value of an attribute, as OTLP writes it in JSON: 64-bit integers are text. */
export type AnyValue =
  | { stringValue: string }
  | { intValue: string }
  | { doubleValue: number }
  | { boolValue: boolean };

export type Attribute = { key: string; value: AnyValue };

/** What a process says of itself with all that it sends. */
export type Resource = { attributes: Attribute[] };

/** Who measured: this program, in its version. */
export type Scope = { name: string; version: string };

/** A message's `resource` and `scope`, the same in all that a process sends. */
export type Origin = { resource: Resource; scope: Scope };

/** Attributes in the form of OTLP; what is null or undefined is left out. */
export function attributesOf(values: Readonly<Record<string, string | number | null | undefined>>): Attribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: valueOf(value) }],
  );
}

/** A moment in Unix nanoseconds, as text: numbers are not that exact. Exact to a microsecond. */
export function nanosecondsOf(unixMs: number): string {
  return `${Math.round(unixMs * 1000)}000`;
}

function valueOf(value: string | number): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
