import { signal } from '@preact/signals';
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

/** Ends the session in this page, which then shows the sign-in page. */
export function endSession(): void {
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
