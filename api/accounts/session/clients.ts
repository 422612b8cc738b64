import { createHash } from 'node:crypto';
import { generateSessionSecret } from '../../../models/accounts/sessions.ts';
import { findSignInClients, recordSignInClients } from '../../../models/accounts/sign-in-clients.ts';
import type { Database } from '../../../models/database.ts';
import { networkOf } from '../../client-address.ts';
import { addressOf, type Exchange } from '../../request-context.ts';
import { browserCookie } from './cookie.ts';

type ClientTools = { database: Pick<Database, 'pool'>; now: () => number; publicUrl: string };

/** The client that is a browser, by what its cookie holds: nothing stores that itself. */
export function clientOfBrowser(secret: string): string {
  return `browser:${createHash('sha256').update(secret).digest('base64url')}`;
}

/** The client that is a network, as `networkOf` writes it. */
export function clientOfNetwork(network: string): string {
  return `network:${network}`;
}

/**
 * Records the browser and the network of a successful sign-in. A browser unknown to the account gets a new cookie,
 * whatever it brings: that may have been planted.
 */
export async function recordClients(
  { database, now, publicUrl }: ClientTools,
  { request, response }: Exchange,
  userId: string,
): Promise<void> {
  const cookie = browserCookie(publicUrl);
  const brought = cookie.read(request);
  const isKnown =
    brought !== null && (await findSignInClients(database, userId, [clientOfBrowser(brought)])).length > 0;
  const secret = isKnown ? brought : generateSessionSecret();
  const address = addressOf(response);
  const clients = [clientOfBrowser(secret), ...(address === null ? [] : [clientOfNetwork(networkOf(address))])];
  await recordSignInClients(database, { account: userId, userId }, { clients, nowMs: now() });
  cookie.give(response, secret);
}
