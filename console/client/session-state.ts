import { signal } from '@preact/signals';
import { drafts } from './drafts.ts';
import type { Schemas } from './shapes.ts';

/** The signed-in user and their account, as `GET /session` returns them. */
export type Session = Schemas['SignedIn'];

/** `unknown` until the first response, null without a session. */
export const session = signal<Session | null | 'unknown'>('unknown');

/** The token that every changing request has to carry; null without a session. */
export function csrfToken(): string | null {
  const { value } = session;
  return value === null || value === 'unknown' ? null : value.csrf_token;
}

/** Whether the session ended without the user's doing: it expired, or was ended elsewhere. */
export const hasExpired = signal(false);

/** Ends the session in this page at the user's request; the sign-in page follows. */
export function endSession(): void {
  drafts.clear();
  hasExpired.value = false;
  session.value = null;
}

/** Ends a session that the service no longer knows. What was typed is kept for the next sign-in, which says why. */
export function loseSession(): void {
  const { value } = session;
  if (value !== null && value !== 'unknown') {
    drafts.store(value.user.id);
    hasExpired.value = true;
  }
  session.value = null;
}

/** The session; throws without one. For pages that need a session. */
export function signedIn(): Session {
  const { value } = session;
  if (value === null || value === 'unknown') throw new Error('no user is signed in');
  return value;
}

/** Whether the user's role allows changes; viewers only read. */
export function canWrite(): boolean {
  const { value } = session;
  return value !== null && value !== 'unknown' && value.user.role !== 'viewer';
}
