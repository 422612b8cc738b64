import {
  openConnectCode,
  sealConnectCode,
  type ConnectCode,
  type OpenedState,
  type StateSealing,
} from '../connect-code.ts';

/** Where the links of emails lead to, below the public URL. */
export const EMAIL_CONFIRM_PATH = '/connect/email';
export const EMAIL_UNSUBSCRIBE_PATH = '/connect/email/unsubscribe';

/** How long a confirmation link works, in seconds: a day, for mail that waits at a server. */
export const CONFIRMATION_SECONDS = 86_400;

/** The purpose that an unsubscribe link is sealed for: a value sealed for anything else is none. */
const UNSUBSCRIBE_CONTEXT = 'email:unsubscribe';

/** The purpose that the code of a confirmation is sealed for. */
const CONFIRM_CONTEXT = 'email:confirm';

/** The link that confirms an address. `publicUrl` is the base of links, without a slash at its end. */
export function buildConfirmLink(code: ConnectCode, publicUrl: string, seal: StateSealing['seal']): string {
  const link = new URL(`${publicUrl}${EMAIL_CONFIRM_PATH}`);
  link.searchParams.set('code', sealConnectCode(code, { seal, purpose: CONFIRM_CONTEXT }));
  return link.href;
}

/** Opens what a confirmation link carried. `foreign`: not sealed by us for this purpose, or changed since. */
export function openConfirmCode(sealed: string, opening: Pick<StateSealing, 'open'> & { nowMs: number }): OpenedState {
  return openConnectCode(sealed, { ...opening, purpose: CONFIRM_CONTEXT });
}

/**
 * The link that ends the emails of a channel. It works for as long as its key is in the ring: a reader may find an old
 * message. It leads to a page that asks first, and takes a POST of RFC 8058.
 */
export function buildUnsubscribeLink(channelId: string, publicUrl: string, seal: StateSealing['seal']): string {
  const link = new URL(`${publicUrl}${EMAIL_UNSUBSCRIBE_PATH}`);
  link.searchParams.set('token', seal(channelId, UNSUBSCRIBE_CONTEXT));
  return link.href;
}

/** The id of the channel of an unsubscribe link; null where we did not make it, or its key has left the ring. */
export function openUnsubscribeToken(token: string, open: StateSealing['open']): string | null {
  try {
    return open(token, UNSUBSCRIBE_CONTEXT);
  } catch {
    return null;
  }
}
