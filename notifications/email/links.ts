import {
  openConnectCode,
  sealConnectCode,
  type ConnectCode,
  type OpenedState,
  type StateSealing,
} from '../connect-code.ts';

/** Paths of the links in emails, below the public URL. */
export const EMAIL_CONFIRM_PATH = '/connect/email';
export const EMAIL_UNSUBSCRIBE_PATH = '/connect/email/unsubscribe';

/** Purpose of a sealed unsubscribe token; a value sealed for another purpose is invalid. */
const UNSUBSCRIBE_CONTEXT = 'email:unsubscribe';

/** Purpose of a sealed confirmation code. */
const CONFIRM_CONTEXT = 'email:confirm';

/** Builds the link that confirms an address. `publicUrl` is the base of links, without a trailing slash. */
export function buildConfirmLink(code: ConnectCode, publicUrl: string, seal: StateSealing['seal']): string {
  const link = new URL(`${publicUrl}${EMAIL_CONFIRM_PATH}`);
  link.searchParams.set('code', sealConnectCode(code, { seal, purpose: CONFIRM_CONTEXT }));
  return link.href;
}

/** Opens the code of a confirmation link. `foreign`: not sealed by this service for this purpose, or modified since. */
export function openConfirmCode(sealed: string, opening: Pick<StateSealing, 'open'> & { nowMs: number }): OpenedState {
  return openConnectCode(sealed, { ...opening, purpose: CONFIRM_CONTEXT });
}

/**
 * Builds the link that ends the emails of a channel. It works while its key is in the ring, because a reader may find
 * an old message. It leads to a confirmation page, and accepts the POST of RFC 8058.
 */
export function buildUnsubscribeLink(channelId: string, publicUrl: string, seal: StateSealing['seal']): string {
  const link = new URL(`${publicUrl}${EMAIL_UNSUBSCRIBE_PATH}`);
  link.searchParams.set('token', seal(channelId, UNSUBSCRIBE_CONTEXT));
  return link.href;
}

/**
 * Returns the channel id of an unsubscribe link; null if this service did not create it, or its key has left the ring.
 */
export function openUnsubscribeToken(token: string, open: StateSealing['open']): string | null {
  try {
    return open(token, UNSUBSCRIBE_CONTEXT);
  } catch {
    return null;
  }
}
