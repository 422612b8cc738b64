/** The client that links name while the installation has none of its own: such a channel stays pending. */
const PLACEHOLDER_CLIENT = 'spotcheck';

/** Where Slack sends people back to after they have chosen a channel, below the public URL. */
const RETURN_PATH = '/connect/slack';

/** The purpose that a state is sealed for: a value sealed for anything else is no state. */
const STATE_CONTEXT = 'slack:state';

export type SlackLinkOptions = {
  code: string;
  expiresAtSeconds: number;
  /** Null = no Slack app is set up. */
  clientId: string | null;
  /** Base of links, without a slash at its end. */
  publicUrl: string;
  /** Authenticated encryption under the installation's key ring: nobody else can make a state, or read one. */
  seal: (plain: string, context: string) => string;
};

/** The link that finishes connecting a Slack channel: OAuth v2 with `incoming-webhook` and a sealed state that carries the code and when it expires (D-55). */
export function buildSlackLink({ code, expiresAtSeconds, clientId, publicUrl, seal }: SlackLinkOptions): string {
  const link = new URL('https://slack.com/oauth/v2/authorize');
  link.searchParams.set('client_id', clientId ?? PLACEHOLDER_CLIENT);
  link.searchParams.set('scope', 'incoming-webhook');
  link.searchParams.set('redirect_uri', `${publicUrl}${RETURN_PATH}`);
  link.searchParams.set('state', seal(JSON.stringify({ code, expires_at: expiresAtSeconds }), STATE_CONTEXT));
  return link.href;
}
