import { signal } from '@preact/signals';
import type { components } from '../../api/schema.generated.ts';

/** Who is signed in, as `GET /session` says. */
export type Session = components['schemas']['SignedIn'];

/** `unknown` until the first answer, null while nobody is signed in. */
export const session = signal<Session | null | 'unknown'>('unknown');

/** What requests that change something have to carry; null while nobody is signed in. */
export function csrfToken(): string | null {
  const { value } = session;
  return value === null || value === 'unknown' ? null : value.csrf_token;
}

/** The session is over, by whomever: everything that belongs to it is to leave the page. */
export function endSession(): void {
  session.value = null;
}

/** Who is signed in; throws where nobody is, for pages that nobody else sees. */
export function signedIn(): Session {
  const { value } = session;
  if (value === null || value === 'unknown') throw new Error('Nobody is signed in');
  return value;
}

/** Whether the person may change things; viewers only look. */
export function canWrite(): boolean {
  const { value } = session;
  return value !== null && value !== 'unknown' && value.user.role !== 'viewer';
}
