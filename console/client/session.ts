import { Failure } from './failure.ts';
import { request } from './request.ts';
import { endSession, session, type Session } from './session-state.ts';

/** Asks who is signed in. Rejects where the service does not say. */
export async function loadSession(): Promise<void> {
  try {
    session.value = await request<Session>('GET', '/session', { answersOwn401: true });
  } catch (error) {
    // Where there are no sessions at all no user is signed in either.
    if (!(error instanceof Failure && (error.status === 401 || error.status === 404))) throw error;
    endSession();
  }
}

/** What became of an attempt to sign in: done, or the second factor is asked for. */
export type SignInOutcome = 'signed-in' | 'code-required';

/** Signs in; rejects with the API's sentence where that does not work. */
export async function signIn(credentials: { email: string; password: string; code?: string }): Promise<SignInOutcome> {
  try {
    session.value = await request<Session>('POST', '/session', { body: credentials, answersOwn401: true });
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

/** Signs out here; what other devices have stays. */
export async function signOut(): Promise<void> {
  await request('DELETE', '/session', { answersOwn401: true });
  endSession();
}
