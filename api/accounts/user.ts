import type { Response } from 'express';
import { renderSVG } from 'uqr';
import { cleanText } from '../../core/foreign-text.ts';
import { readTimeZone } from '../../core/time-zones.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  findSecondFactor,
  removeSecondFactor,
  replaceRecoveryCodes,
} from '../../models/accounts/second-factor.ts';
import { changePassword, normalizeEmail, updateUser } from '../../models/accounts/users.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { badRequest, conflict, type ApiError } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, personOf, type Exchange } from '../request-context.ts';
import {
  codeProof,
  findTotpStep,
  generateRecoveryCodes,
  generateTotpSecret,
  normalizeCode,
  otpauthUrl,
  passwordProof,
  requireProofs,
  takeCode,
  writeRecoveryCode,
} from './session/proofs.ts';
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

const isOn = (): ApiError => conflict('two-factor authentication is already on: turn it off first');
const isOff = (): ApiError => conflict('two-factor authentication is not on: start with POST /v1/user/totp');

/** `POST /user/totp`. */
export function startTotpHandler({ database, throttle }: Parts<'database' | 'throttle'>): Handler<'startTotp'> {
  return async (request, response) => {
    const { password } = request.body;
    const { user } = personOf(response);
    await requireProofs(throttle, { request, response }, [passwordProof(response, 'password', password)]);
    const secret = generateTotpSecret();
    if (!(await beginSecondFactor(database, { userId: user.id, secret, author: authorOf(response) }))) throw isOn();
    const url = otpauthUrl(secret, user.email);
    // The response contains the secret: no cache on the way may store it.
    response.setHeader('Cache-Control', 'no-store');
    response.json({ secret, otpauth_url: url, qr_svg: renderSVG(url) });
  };
}

/** `POST /user/totp/confirm`. */
export function confirmTotpHandler({
  database,
  now,
  throttle,
}: Parts<'database' | 'now' | 'throttle'>): Handler<'confirmTotp'> {
  return async (request, response) => {
    const { code } = request.body;
    const { user, sessionId } = personOf(response);
    const factor = await findSecondFactor(database, user.id);
    if (factor === null) throw isOff();
    if (factor.confirmedAt !== null) throw isOn();
    const step = findTotpStep(factor.secret, normalizeCode(code), now());
    await requireProofs(throttle, { request, response }, [codeProof(async () => step !== null)]);
    const codes = generateRecoveryCodes();
    const isConfirmed = await confirmSecondFactor(
      database,
      { author: authorOf(response), userId: user.id, keepSessionId: sessionId },
      { sealed: factor.sealed, step: step ?? 0, codes, nowMs: now() },
    );
    if (!isConfirmed)
      throw conflict('two-factor authentication has just been changed: start again with POST /v1/user/totp');
    sendCodes(response, codes);
  };
}

/** `DELETE /user/totp`. */
export function removeTotpHandler(dependencies: Parts<'database' | 'now' | 'throttle'>): Handler<'removeTotp'> {
  return async (request, response) => {
    const { user, sessionId } = personOf(response);
    if (user.totpConfirmedAt === null) throw isOff();
    await requireBoth(dependencies, { request, response });
    const ended = await removeSecondFactor(dependencies.database, {
      author: authorOf(response),
      userId: user.id,
      keepSessionId: sessionId,
    });
    if (ended === null) throw isOff();
    response.json({ ended_sessions: ended });
  };
}

/** `POST /user/recovery-codes`. */
export function renewRecoveryCodesHandler(
  dependencies: Parts<'database' | 'now' | 'throttle'>,
): Handler<'renewRecoveryCodes'> {
  return async (request, response) => {
    const { user } = personOf(response);
    if (user.totpConfirmedAt === null) throw isOff();
    await requireBoth(dependencies, { request, response });
    const codes = generateRecoveryCodes();
    if (!(await replaceRecoveryCodes(dependencies.database, { userId: user.id, codes, author: authorOf(response) })))
      throw isOff();
    sendCodes(response, codes);
  };
}

/** Requires the password before the code, because checking a code uses it up. */
async function requireBoth(dependencies: Parts<'database' | 'now' | 'throttle'>, exchange: Exchange): Promise<void> {
  const { password, code } = exchange.request.body;
  const { user } = personOf(exchange.response);
  await requireProofs(dependencies.throttle, exchange, [
    passwordProof(exchange.response, 'password', password),
    codeProof(() => takeCode(dependencies, user.id, code)),
  ]);
}

function sendCodes(response: Response, codes: readonly string[]): void {
  response.setHeader('Cache-Control', 'no-store');
  response.json({ recovery_codes: codes.map(writeRecoveryCode) });
}
