import type { z } from 'zod';
import { accepted, refused } from '../../core/parsed.ts';
import type { Parsed } from '../../core/parsed.ts';
import { decodeText } from './decode-text.ts';

/** The JSON of a document in the shape that its schema asks for, or a sentence that says where it does not fit. */
export function parseJson<Schema extends z.ZodType>(body: Buffer, schema: Schema): Parsed<z.output<Schema>> {
  let value: unknown;
  try {
    value = JSON.parse(decodeText(body));
  } catch {
    return refused('it is not JSON');
  }
  const result = schema.safeParse(value);
  if (result.success) return accepted(result.data);
  const path = result.error.issues[0]?.path.map(String).join('.') ?? '';
  return refused(`its JSON is of another form${path === '' ? '' : ` (at ${path.slice(0, 60)})`}`);
}
