import { Failure } from './answer.ts';
import { request } from './api.ts';
import type { EndReason } from './live-stream.ts';
import { adoptSession, csrfToken, endSession, loseSession, lostBy, session, type Session } from './session-state.ts';

/**
 * Loads the session; `reason` explains why it may have ended. Rejects if the service does not report whether there is
 * one.
 */
export async function loadSession(reason?: EndReason): Promise<void> {
  const asked = csrfToken();
  try {
    adoptSession(await request<Session>('GET', '/session', { answersOwn401: true }));
  } catch (error) {
    // An installation without sessions answers 404.
    if (!(error instanceof Failure && (error.status === 401 || error.status === 404))) throw error;
    // Meanwhile the user may have signed in again.
    if (csrfToken() === asked) loseSession(reason);
  }
}

/** The result of a sign-in: signed in, or the code of the second factor is needed. */
type SignInOutcome = 'signed-in' | 'code-required';

/** Signs in; rejects with the API's error otherwise. */
export async function signIn(credentials: { email: string; password: string; code?: string }): Promise<SignInOutcome> {
  try {
    session.value = await request<Session>('POST', '/session', { body: credentials, answersOwn401: true });
    lostBy.value = null;
    return 'signed-in';
  } catch (error) {
    if (
      error instanceof Failure &&
      error.status === 401 &&
      error.body['code_required'] === true &&
      credentials.code === undefined
    )
      return 'code-required';
    throw error;
  }
}

/** Signs out on this device; other sessions stay. */
export async function signOut(): Promise<void> {
  await request('DELETE', '/session', { answersOwn401: true });
  endSession();
}
