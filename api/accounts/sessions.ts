import { endSession, endSessionsElsewhere, listSessions } from '../../models/accounts/sessions.ts';
import { notFound } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { authorOf, idOf, personOf } from '../request-context.ts';
import { presentSession, presentSignedIn } from './session-presenter.ts';
import { sessionCookie } from './session/cookie.ts';
import { recoveryCodesOf } from './sign-in.ts';

/** `GET /session`. */
export function getSessionHandler(dependencies: Parts<'database' | 'config'>): Handler<'getSession'> {
  return async (_request, response) => {
    const caller = personOf(response);
    response.setHeader('Cache-Control', 'no-store');
    response.json(presentSignedIn(caller, await recoveryCodesOf(dependencies, caller.user), dependencies.config));
  };
}

/** `DELETE /session`. */
export function signOutHandler({ database, config }: Parts<'database' | 'config'>): Handler<'signOut'> {
  const cookie = sessionCookie(config.publicUrl);
  return async (_request, response) => {
    const { user, sessionId } = personOf(response);
    await endSession(database, { author: authorOf(response), userId: user.id, id: sessionId });
    cookie.take(response);
    response.status(204).end();
  };
}

/** `GET /sessions`. */
export function listSessionsHandler({ database, now }: Parts<'database' | 'now'>): Handler<'listSessions'> {
  return async (_request, response) => {
    const { user, sessionId } = personOf(response);
    const sessions = await listSessions(database, user.id, now());
    response.json({ sessions: sessions.map((session) => presentSession(session, sessionId)) });
  };
}

/** `DELETE /sessions/{id}`. */
export function endSessionHandler({ database, config }: Parts<'database' | 'config'>): Handler<'endSession'> {
  const cookie = sessionCookie(config.publicUrl);
  return async (request, response) => {
    const { user, sessionId } = personOf(response);
    const id = idOf(request);
    if (!(await endSession(database, { author: authorOf(response), userId: user.id, id })))
      throw notFound('session', id);
    if (id === sessionId) cookie.take(response);
    response.status(204).end();
  };
}

/** `POST /sessions/end-others`. */
export function endOtherSessionsHandler({ database }: Parts<'database'>): Handler<'endOtherSessions'> {
  return async (_request, response) => {
    const { user, sessionId } = personOf(response);
    response.json({
      ended_sessions: await endSessionsElsewhere(database, {
        author: authorOf(response),
        userId: user.id,
        keepSessionId: sessionId,
      }),
    });
  };
}
