import { signal } from '@preact/signals';
import { drafts } from './drafts.ts';
import type { EndReason } from './live-stream.ts';
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

/** Why the session ended without the user's doing; null if it did not. */
export const lostBy = signal<EndReason | null>(null);

/** Ends the session in this page at the user's request; the sign-in page follows. */
export function endSession(): void {
  drafts.clear();
  lostBy.value = null;
  session.value = null;
}

/** Ends a session that the service no longer knows. What was typed is kept for the next sign-in, which says why. */
export function loseSession(reason: EndReason = 'ended'): void {
  const { value } = session;
  if (value !== null && value !== 'unknown') {
    if (reason === 'removed') drafts.clear();
    else drafts.store(value.user.id);
    lostBy.value = reason;
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
