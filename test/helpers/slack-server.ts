import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';

type Json = Record<string, unknown>;

/** A response in place of the server's usual one. */
type Answer = { status: number; body: string; headers?: Record<string, string> };

/** A message as shown in a channel of the workspace. */
export type SlackPost = { webhook: string; body: string; json: Json };

/** A fake Slack with one workspace, `Acme`, and one app in it. */
export type SlackServer = {
  apiUrl: string;
  clientSecret: string;
  /** Accepted messages, in order. */
  posts: SlackPost[];
  /** Returns how many codes were submitted for exchange. */
  exchanges: () => number;
  /**
   * Acts as a user in Slack: opens the link, chooses a channel and allows access. Returns the URL to which Slack
   * redirects.
   */
  approve(authorizeUrl: string, channel?: string): string;
  /** Removes the app from the workspace, and thereby its webhooks. */
  revoke(): void;
  /** Responses in place of the usual ones; null = none. */
  answers: { api: Answer | null; webhook: Answer | null };
};

/** Client id of the app, the same on every server. */
export const SLACK_CLIENT_ID = '1234567890.0987654321';

/** Starts the server on a free port of 127.0.0.1; it stops with the test. */
export async function startSlackServer(t: Harness): Promise<SlackServer> {
  const clientSecret = randomBytes(16).toString('hex');
  const codes = new Map<string, { redirectUri: string; channel: string }>();
  const spent = new Set<string>();
  const webhooks = new Set<string>();
  const posts: SlackPost[] = [];
  const answers: SlackServer['answers'] = { api: null, webhook: null };
  let exchanges = 0;
  let origin = '';

  const exchange = (form: URLSearchParams): Json => {
    exchanges += 1;
    const code = form.get('code') ?? '';
    if (form.get('client_id') !== SLACK_CLIENT_ID) return { ok: false, error: 'invalid_client_id' };
    if (form.get('client_secret') !== clientSecret) return { ok: false, error: 'bad_client_secret' };
    if (spent.has(code)) return { ok: false, error: 'code_already_used' };
    const granted = codes.get(code);
    if (granted === undefined) return { ok: false, error: 'invalid_code' };
    if (form.get('redirect_uri') !== granted.redirectUri) return { ok: false, error: 'bad_redirect_uri' };
    spent.add(code);
    const path = `/services/T0ACME/B${randomBytes(4).toString('hex')}/${randomBytes(12).toString('hex')}`;
    webhooks.add(path);
    return {
      ok: true,
      app_id: 'A0SPOT',
      authed_user: { id: 'U0ANN' },
      scope: 'incoming-webhook',
      token_type: 'bot',
      access_token: `xoxb-${randomBytes(12).toString('hex')}`,
      bot_user_id: 'U0BOT',
      team: { id: 'T0ACME', name: 'Acme' },
      enterprise: null,
      is_enterprise_install: false,
      incoming_webhook: {
        channel: granted.channel,
        channel_id: 'C0ALERTS',
        configuration_url: 'https://acme.slack.com/services/B0',
        url: `${origin}${path}`,
      },
    };
  };

  const serveApi = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    if (answers.api !== null) return reply(response, answers.api);
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
    const json = isForm ? exchange(new URLSearchParams(body)) : { ok: false, error: 'invalid_post_type' };
    return reply(response, {
      status: 200,
      body: JSON.stringify(json),
      headers: { 'Content-Type': 'application/json; charset=utf-8' },
    });
  };

  const serveWebhook = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    if (answers.webhook !== null) return reply(response, answers.webhook);
    const webhook = request.url ?? '';
    if (!webhooks.has(webhook)) return reply(response, { status: 404, body: 'no_service' });
    const problem = problemOf(body);
    if (problem !== null) return reply(response, { status: 400, body: problem });
    posts.push({ webhook, body, json: JSON.parse(body) });
    return reply(response, { status: 200, body: 'ok' });
  };

  const { port } = await startHttpServer(t, (request, response) => {
    if (request.method !== 'POST') return reply(response, { status: 405, body: '' });
    if (request.url === '/api/oauth.v2.access') return void serveApi(request, response);
    return void serveWebhook(request, response);
  });
  origin = `http://127.0.0.1:${port}`;
  return {
    apiUrl: `${origin}/api`,
    clientSecret,
    posts,
    exchanges: () => exchanges,
    approve(authorizeUrl, channel = '#alerts') {
      const { searchParams } = new URL(authorizeUrl);
      const redirectUri = searchParams.get('redirect_uri') ?? '';
      if (searchParams.get('client_id') !== SLACK_CLIENT_ID || searchParams.get('scope') !== 'incoming-webhook')
        throw new Error(`Slack would show an error for ${authorizeUrl}`);
      const code = `${randomBytes(6).toString('hex')}.${randomBytes(6).toString('hex')}`;
      codes.set(code, { redirectUri, channel });
      const back = new URL(redirectUri);
      back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      return back.href;
    },
    revoke: () => webhooks.clear(),
    answers,
  };
}

function reply(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  response.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end(body);
}

/** Returns Slack's error for a message; null if it is valid. */
function problemOf(body: string): string | null {
  let message: Json;
  try {
    message = JSON.parse(body);
  } catch {
    return 'invalid_payload';
  }
  const blocks = message['blocks'];
  if (blocks === undefined) return typeof message['text'] === 'string' && message['text'] !== '' ? null : 'no_text';
  if (!Array.isArray(blocks) || blocks.length === 0 || blocks.length > 50) return 'invalid_blocks';
  return blocks.every(isGoodBlock) ? null : 'invalid_blocks';
}

function isGoodBlock(block: Json): boolean {
  switch (block['type']) {
    case 'header':
      return isGoodText(block['text'], 'plain_text', 150);
    case 'section':
      return isGoodText(block['text'], 'mrkdwn', 3000);
    case 'context': {
      const elements = block['elements'];
      return (
        Array.isArray(elements) &&
        elements.length > 0 &&
        elements.length <= 10 &&
        elements.every((element) => isGoodText(element, 'mrkdwn', 3000))
      );
    }
    case 'rich_text': {
      const sections = block['elements'];
      return (
        Array.isArray(sections) &&
        sections.length > 0 &&
        sections.every(
          (section) =>
            isObject(section) && section['type'] === 'rich_text_section' && isGoodSection(section['elements']),
        )
      );
    }
    default:
      return false;
  }
}

/** Fields of a rich text element by its type; Slack refuses others, and empty texts. */
const ELEMENT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text', 'style'],
  link: ['type', 'url', 'text', 'style'],
};
const STYLES = new Set(['bold', 'italic', 'strike', 'code']);

function isGoodSection(elements: unknown): boolean {
  return Array.isArray(elements) && elements.length > 0 && elements.every(isGoodElement);
}

function isGoodElement(element: unknown): boolean {
  if (!isObject(element) || typeof element['text'] !== 'string' || element['text'] === '') return false;
  const { type, url, style } = element;
  const isStyled =
    style === undefined ||
    (isObject(style) && Object.entries(style).every(([name, value]) => STYLES.has(name) && typeof value === 'boolean'));
  return (
    isStyled &&
    (type !== 'link' || (typeof url === 'string' && URL.canParse(url))) &&
    Object.keys(element).every((key) => ELEMENT_FIELDS[String(type)]?.includes(key))
  );
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Fields of a text object by its type; Slack refuses others. */
const TEXT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  plain_text: ['type', 'text', 'emoji'],
  mrkdwn: ['type', 'text', 'verbatim'],
};

function isGoodText(value: unknown, type: 'plain_text' | 'mrkdwn', most: number): boolean {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('text' in value)) return false;
  const { text: shown } = value;
  return (
    value.type === type &&
    typeof shown === 'string' &&
    shown.length > 0 &&
    shown.length <= most &&
    Object.keys(value).every((key) => TEXT_FIELDS[type]?.includes(key))
  );
}
