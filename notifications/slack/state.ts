import type { ConnectCode } from '../connect-code.ts';

/** Authenticated encryption under the installation's key ring: only the service can make a state, or read one. */
export type StateSealing = {
  seal: (plain: string, context: string) => string;
  open: (sealed: string, context: string) => string;
};

/** What came back from Slack as our state: the code in it, or why it is worth nothing. */
export type OpenedState = { outcome: 'good'; code: string } | { outcome: 'foreign' | 'expired' };

/** The purpose that a state is sealed for: a value sealed for anything else is no state. */
const STATE_CONTEXT = 'slack:state';

/** The state of an authorization: the connect code and when it expires, for the service alone to read (D-55). */
export function sealState(
  { code, expiresAtSeconds }: Pick<ConnectCode, 'code' | 'expiresAtSeconds'>,
  seal: StateSealing['seal'],
): string {
  return seal(JSON.stringify({ code, expires_at: expiresAtSeconds }), STATE_CONTEXT);
}

/** Opens a state that a browser brought back. `foreign`: not sealed by us for this purpose, or changed since. */
export function openState(state: string, { open, nowMs }: Pick<StateSealing, 'open'> & { nowMs: number }): OpenedState {
  let plain: string;
  try {
    plain = open(state, STATE_CONTEXT);
  } catch {
    return { outcome: 'foreign' };
  }
  // It opened, so we wrote it.
  const { code, expires_at: expiresAtSeconds } = JSON.parse(plain) as { code: string; expires_at: number };
  return nowMs < expiresAtSeconds * 1000 ? { outcome: 'good', code } : { outcome: 'expired' };
}
