import {
  openConnectCode,
  sealConnectCode,
  type ConnectCode,
  type OpenedState,
  type StateSealing,
} from '../connect-code.ts';

/** The client that links name while the installation has none of its own: such a channel stays pending. */
const PLACEHOLDER_CLIENT = 'spotcheck';

/** Where Slack sends people back to after they have chosen a channel, below the public URL. */
export const SLACK_RETURN_PATH = '/connect/slack';

export type SlackLinkOptions = {
  code: string;
  expiresAtSeconds: number;
  /** Null = no Slack app is set up. */
  clientId: string | null;
  /** Base of links, without a slash at its end. */
  publicUrl: string;
  seal: StateSealing['seal'];
};

/**
 * The link that finishes connecting a Slack channel: OAuth v2 with `incoming-webhook` and a sealed state that carries
 * the code and when it expires (D-55).
 */
export function buildSlackLink({ code, expiresAtSeconds, clientId, publicUrl, seal }: SlackLinkOptions): string {
  const link = new URL('https://slack.com/oauth/v2/authorize');
  link.searchParams.set('client_id', clientId ?? PLACEHOLDER_CLIENT);
  link.searchParams.set('scope', 'incoming-webhook');
  link.searchParams.set('redirect_uri', returnUrl(publicUrl));
  link.searchParams.set('state', sealState({ code, expiresAtSeconds }, seal));
  return link.href;
}

/** The address that Slack sends people back to; the exchange of their code must name the very same. */
export function returnUrl(publicUrl: string): string {
  return `${publicUrl}${SLACK_RETURN_PATH}`;
}

/** The purpose that a state is sealed for: a value sealed for anything else is no state. */
const STATE_CONTEXT = 'slack:state';

/** The state of an authorization: the connect code and when it expires, for the service alone to read (D-55). */
export function sealState(code: Pick<ConnectCode, 'code' | 'expiresAtSeconds'>, seal: StateSealing['seal']): string {
  return sealConnectCode(code, { seal, purpose: STATE_CONTEXT });
}

/** Opens a state that a browser brought back. `foreign`: not sealed by us for this purpose, or changed since. */
export function openState(state: string, opening: Pick<StateSealing, 'open'> & { nowMs: number }): OpenedState {
  return openConnectCode(state, { ...opening, purpose: STATE_CONTEXT });
}
