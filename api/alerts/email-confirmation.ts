import { hash, randomBytes } from 'node:crypto';
import { CONFIRMATION_SECONDS } from '../../core/alerts/channel.ts';
import { generateConnectCode, type ConnectCode } from '../../notifications/connect-code.ts';
import { buildConfirmation } from '../../notifications/email/alert.ts';
import { buildConfirmLink } from '../../notifications/email/links.ts';
import { badRequest } from '../api-error.ts';
import type { Parts } from '../handler.ts';

/** Dependencies for sending a confirmation. */
export type ConfirmationParts = Parts<'database' | 'config' | 'makeId' | 'now' | 'rateLimits' | 'sendEmail'>;

/**
 * Sends the email that asks whether alerts may go to an address, and returns its code for the caller to store. Stores
 * nothing itself: an address that the mail server refuses is not kept. Throws 400 if the email was not accepted, and
 * 429 beyond the rate of the account, or of the address across accounts.
 */
export async function sendConfirmation(
  { database, config, makeId, now, rateLimits, sendEmail }: ConfirmationParts,
  { tenantId, address }: { tenantId: string; address: string },
): Promise<ConnectCode> {
  if (sendEmail === null)
    throw badRequest(
      'type email is not available here: the operator of this installation must set SMTP_URL and MAIL_FROM',
    );
  await rateLimits.take('confirmation', tenantId);
  await rateLimits.take('addressConfirmation', hash('sha256', address.toLowerCase(), 'base64url'));
  const code = generateConnectCode(randomBytes, now(), CONFIRMATION_SECONDS);
  const link = buildConfirmLink(code, config.publicUrl, database.secrets.seal);
  const confirmation = buildConfirmation({ account: tenantId, to: address, messageId: makeId('dlv'), link });
  const { outcome, error } = await sendEmail(confirmation);
  if (outcome !== 'delivered') throw badRequest(`confirmation could not be sent: ${error}`);
  return code;
}
