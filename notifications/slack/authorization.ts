import { cleanText, parseJson } from '../../core/foreign-text.ts';
import { isRecord } from '../../core/input.ts';
import {
  openConnectCode,
  sealConnectCode,
  type ConnectCode,
  type OpenedState,
  type StateSealing,
} from '../connect-code.ts';
import { isWebhookUrl, type SlackSending } from './attempt.ts';

/** Client id in links while the installation has no Slack app: such a channel stays pending. */
const PLACEHOLDER_CLIENT = 'spotcheck';

/** Path, below the public URL, to which Slack returns people after they have chosen a channel. */
export const SLACK_RETURN_PATH = '/connect/slack';

type SlackLinkOptions = {
  code: string;
  expiresAtSeconds: number;
  /** Null if no Slack app is configured. */
  clientId: string | null;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
  seal: StateSealing['seal'];
};

/**
 * Builds the link that finishes connecting a Slack channel: OAuth v2 with `incoming-webhook` and a sealed state that
 * contains the code and its expiry (D-55).
 */
export function buildSlackLink({ code, expiresAtSeconds, clientId, publicUrl, seal }: SlackLinkOptions): string {
  const link = new URL('https://slack.com/oauth/v2/authorize');
  link.searchParams.set('client_id', clientId ?? PLACEHOLDER_CLIENT);
  link.searchParams.set('scope', 'incoming-webhook');
  link.searchParams.set('redirect_uri', returnUrl(publicUrl));
  link.searchParams.set('state', sealState({ code, expiresAtSeconds }, seal));
  return link.href;
}

/** Returns the URL to which Slack returns people; the exchange of their code must name exactly the same. */
export function returnUrl(publicUrl: string): string {
  return `${publicUrl}${SLACK_RETURN_PATH}`;
}

/** Purpose of a sealed state; a value sealed for another purpose is invalid. */
const STATE_CONTEXT = 'slack:state';

/** Seals the state of an authorization: the connect code and its expiry, readable only by the service (D-55). */
export function sealState(code: Pick<ConnectCode, 'code' | 'expiresAtSeconds'>, seal: StateSealing['seal']): string {
  return sealConnectCode(code, { seal, purpose: STATE_CONTEXT });
}

/** Opens a state that a browser returned. `foreign`: not sealed by this service for this purpose, or modified since. */
export function openState(state: string, opening: Pick<StateSealing, 'open'> & { nowMs: number }): OpenedState {
  return openConnectCode(state, { ...opening, purpose: STATE_CONTEXT });
}

/** The installation's Slack app, and the return URL that its links named. */
export type SlackApp = { clientId: string; clientSecret: string; returnUrl: string };

/**
 * Grant of a person in Slack: a webhook into one channel, and the names of the channel and workspace (null if Slack
 * omits them).
 */
export type SlackGrant = { webhookUrl: string; teamName: string | null; channelName: string | null };

/**
 * Result of an exchange. `stale`: the person's code is used or too old, and a new authorization helps. `refused`: Slack
 * does not accept the app, which only its operator can change. `away`: a retry may succeed. `reason` is for people and
 * contains no secret.
 */
export type SlackAuthorization =
  | { outcome: 'granted'; grant: SlackGrant }
  | { outcome: 'stale' | 'refused' | 'away'; reason: string };

/** Maximum size of a response, in bytes; one with a grant has about a kilobyte. */
const RESPONSE_LIMIT = 65_536;

const MAX_NAME = 255;

/** Error codes of oauth.v2.access, by remedy; unlisted ones are the operator's to fix. */
const OUTCOME_OF_ERROR: ReadonlyMap<unknown, 'stale' | 'away'> = new Map([
  ['invalid_code', 'stale'],
  ['code_already_used', 'stale'],
  ['ratelimited', 'away'],
  ['internal_error', 'away'],
  ['fatal_error', 'away'],
  ['request_timeout', 'away'],
  ['service_unavailable', 'away'],
  ['team_added_to_org', 'away'],
]);

const UNREADABLE = { outcome: 'away', reason: 'The response did not come from the Slack API' } as const;

/**
 * Exchanges the code that a person brought back from Slack for a webhook (oauth.v2.access, D-55). The access token in
 * the response is discarded. Rejects only if this machine lacks resources.
 */
export async function authorizeSlack(
  code: string,
  app: SlackApp,
  { http, apiUrl, deadlineMs }: SlackSending,
): Promise<SlackAuthorization> {
  const form = new URLSearchParams({
    client_id: app.clientId,
    client_secret: app.clientSecret,
    code,
    redirect_uri: app.returnUrl,
  });
  const exchange = await http({
    url: new URL(`${apiUrl}/oauth.v2.access`),
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
    },
    body: form.toString(),
    deadlineMs,
    bodyLimit: () => RESPONSE_LIMIT,
  });
  if (exchange.outcome === 'failed') return { outcome: 'away', reason: exchange.reason };
  if (exchange.status === 429 || exchange.status >= 500)
    return { outcome: 'away', reason: `Slack responded with ${exchange.status}` };
  const answer = parseObject(exchange.body.toString('utf8'));
  if (answer === null) return UNREADABLE;
  return answer['ok'] === true ? readGrant(answer, apiUrl) : readError(answer['error']);
}

function readGrant(answer: Readonly<Record<string, unknown>>, apiUrl: string): SlackAuthorization {
  const webhook = objectOf(answer['incoming_webhook']);
  const webhookUrl = webhook['url'];
  if (typeof webhookUrl !== 'string')
    return {
      outcome: 'refused',
      reason: 'Slack returned no incoming webhook: the app lacks the scope incoming-webhook',
    };
  if (!isWebhookUrl(webhookUrl, apiUrl))
    return { outcome: 'refused', reason: 'Slack returned a webhook that is not at hooks.slack.com' };
  // An app that is installed for a whole organization has no team.
  const teamName = nameOf(objectOf(answer['team'])['name']) ?? nameOf(objectOf(answer['enterprise'])['name']);
  return { outcome: 'granted', grant: { webhookUrl, teamName, channelName: nameOf(webhook['channel']) } };
}

function readError(error: unknown): SlackAuthorization {
  const reason =
    typeof error === 'string' && /^[a-z_]{1,64}$/.test(error)
      ? `Slack responded with ${error}`
      : 'Slack refused without giving a reason';
  return { outcome: OUTCOME_OF_ERROR.get(error) ?? 'refused', reason };
}

function nameOf(value: unknown): string | null {
  return typeof value === 'string' ? cleanText(value, MAX_NAME) || null : null;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  const value = parseJson(text);
  return isRecord(value) ? value : null;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
