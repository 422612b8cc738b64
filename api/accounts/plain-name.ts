import { badRequest } from '../api-error.ts';

/**
 * A name of something that shows in one line everywhere: 400 for blanks alone, control characters and halves of
 * characters. How long it may be is said by the description.
 */
export function requirePlainName(field: string, name: string): string {
  if (name.trim() === '') throw badRequest(`${field} must be a text with more than blanks`);
  if (/[\p{Cc}\u2028\u2029]/u.test(name) || !name.isWellFormed())
    throw badRequest(`${field} must be a text without control characters`);
  return name;
}
