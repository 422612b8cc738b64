import { signal } from '@preact/signals';
import type { Schemas } from './shapes.ts';

/** Who is signed in, as `GET /session` says. */
export type Session = Schemas['SignedIn'];

/** `unknown` until the first answer, null without a session. */
export const session = signal<Session | null | 'unknown'>('unknown');

/** What requests that change something have to carry; null without a session. */
export function csrfToken(): string | null {
  const { value } = session;
  return value === null || value === 'unknown' ? null : value.csrf_token;
}

/** The session is over, by whomever: everything that belongs to it is to leave the page. */
export function endSession(): void {
  session.value = null;
}

/** The signed-in user; throws without one, for pages that need a session. */
export function signedIn(): Session {
  const { value } = session;
  if (value === null || value === 'unknown') throw new Error('no user is signed in');
  return value;
}

/** Whether the person may change things; viewers only look. */
export function canWrite(): boolean {
  const { value } = session;
  return value !== null && value !== 'unknown' && value.user.role !== 'viewer';
}
