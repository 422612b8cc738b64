import { createHash } from 'node:crypto';
import type { Database } from '../../models/database.ts';
import { generateSessionSecret } from '../../models/sessions.ts';
import { findSignInPlaces, recordSignInPlaces } from '../../models/sign-in-places.ts';
import { addressOf, type Exchange } from '../request-context.ts';
import { browserCookie } from './cookie.ts';
import { networkOf } from './network.ts';

type PlacesMeans = { database: Pick<Database, 'pool'>; now: () => number; publicUrl: string };

/** The place that is a browser, by what its cookie holds: nothing stores that itself. */
export function placeOfBrowser(secret: string): string {
  return `browser:${createHash('sha256').update(secret).digest('base64url')}`;
}

/** The place that is a network, as `networkOf` writes it. */
export function placeOfNetwork(network: string): string {
  return `network:${network}`;
}

/**
 * Records the browser and the network of a successful sign-in. A browser unknown to the account gets a new cookie,
 * whatever it brings: that may have been planted.
 */
export async function rememberPlaces(
  { database, now, publicUrl }: PlacesMeans,
  { request, response }: Exchange,
  userId: string,
): Promise<void> {
  const cookie = browserCookie(publicUrl);
  const brought = cookie.read(request);
  const isKnown = brought !== null && (await findSignInPlaces(database, userId, [placeOfBrowser(brought)])).length > 0;
  const secret = isKnown ? brought : generateSessionSecret();
  const address = addressOf(response);
  const places = [placeOfBrowser(secret), ...(address === null ? [] : [placeOfNetwork(networkOf(address))])];
  await recordSignInPlaces(database, { account: userId, userId }, { places, nowMs: now() });
  cookie.give(response, secret);
}
