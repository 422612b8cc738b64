import { cleanText } from '../../core/foreign-text.ts';
import { readTimeZone } from '../../core/time-zones.ts';
import { changePassword, normalizeEmail, updateUser } from '../../models/accounts/users.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { badRequest, conflict } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, personOf } from '../request-context.ts';
import { passwordProof, requireProofs } from './session/proofs.ts';
import { presentUser, recoveryCodesOf } from './sessions.ts';

const NAME_LENGTH = 255;

/** `PATCH /user`. */
export function updateUserHandler({ database }: Parts<'database'>): Handler<'updateUser'> {
  return async (request, response) => {
    const { name, theme, time_zone: zone, clock } = request.body;
    const timeZone = zone === undefined ? undefined : readTimeZone(zone);
    if (timeZone === null)
      throw badRequest(
        `time_zone must be browser, UTC or an IANA time zone such as Europe/Berlin, got ${JSON.stringify(zone)}`,
      );
    const user = await updateUser(
      database,
      { id: personOf(response).user.id, author: authorOf(response) },
      {
        ...(name !== undefined && { name: cleanText(name, NAME_LENGTH) }),
        ...(theme !== undefined && { theme }),
        ...(timeZone !== undefined && { timeZone }),
        ...(clock !== undefined && { clock }),
      },
    );
    if (user === null) throw conflict('this user has just been removed');
    response.json(presentUser(user, await recoveryCodesOf({ database }, user)));
  };
}

/** `POST /user/password`. */
export function changePasswordHandler({
  database,
  now,
  throttle,
}: Parts<'database' | 'now' | 'throttle'>): Handler<'changePassword'> {
  return async (request, response) => {
    const { current, new: wanted } = request.body;
    const { user, sessionId } = personOf(response);
    if (wanted === current) throw badRequest('new must be another password, not the current one');
    if (normalizeEmail(wanted) === normalizeEmail(user.email))
      throw badRequest('new must not be your email address: it is too easy to guess');
    await requireProofs(throttle, { request, response }, [passwordProof(response, 'current', current)]);
    const ended = await changePassword(database, {
      author: authorOf(response),
      userId: user.id,
      oldHash: user.passwordHash,
      newHash: await hashPassword(wanted),
      keepSessionId: sessionId,
      nowMs: now(),
    });
    if (ended === null) throw badRequest('current is no longer your password: it was changed meanwhile');
    response.json({ ended_sessions: ended });
  };
}
