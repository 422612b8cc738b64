import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { SLACK_CLIENT_ID } from '../helpers/slack-server.ts';
import { until } from '../helpers/until.ts';
import type { EchoingServers } from './echoing-servers.ts';

type Json = Record<string, unknown>;

/** A response of the API, with headers and body unchanged. */
export type Exchange = { request: string; status: number; text: string };

/** All responses in a life by recipient, and the secrets that it created, by name. */
export type Life = {
  secrets: Map<string, string>;
  /** Responses to tokens with write access; `once` has those that show a secret once. */
  answers: Exchange[];
  once: Exchange[];
  /** Responses to a read-only token. */
  toReader: Exchange[];
};

export type LifeOptions = {
  url: string;
  token: string;
  readerToken: string;
  servers: EchoingServers;
  /** Failures of the service's dependencies, which begin and end one after the other. */
  faults: readonly { begin: () => unknown; end: () => unknown }[];
  /** Paths of the API's description that are read at the end. */
  readPaths: readonly string[];
  ownAgentId: string | null;
};

const PATIENCE = { timeoutMs: 120_000 };
const CHAT = 5_000_000_077;

/** Returns a unique secret whose characters survive every encoding. */
export function canary(name: string): string {
  return `cnry-${name}-${randomBytes(9).toString('hex')}`;
}

/** Leads an installation through every use of secrets: created, changed, used, sent, refused, lost. */
export async function liveThrough(
  t: ExecutionContext,
  { url, token, readerToken, servers, faults, readPaths, ownAgentId }: LifeOptions,
): Promise<Life> {
  const life: Life = { secrets: new Map(), answers: [], once: [], toReader: [] };
  const fresh = (name: string, value = canary(name.replaceAll(' ', '-'))): string => {
    // A replaced secret is still searched for.
    life.secrets.set(life.secrets.has(name) ? `${name} ${life.secrets.size}` : name, value);
    return value;
  };
  const over = new AbortController();
  t.teardown(() => over.abort());
  const ask = async (
    exchanges: Exchange[],
    path: string,
    { method = 'GET', body, headers = {} }: RequestOptions = {},
  ): Promise<Json> => {
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      signal: over.signal,
      headers: {
        Authorization: `Bearer ${exchanges === life.toReader ? readerToken : token}`,
        'Content-Type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const answer = {
      request: `${method} ${path.slice(0, 40)}`,
      status: response.status,
      text: `${JSON.stringify([...response.headers])}\n`,
    };
    exchanges.push(answer);
    if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
      void listenOn(response, answer);
      return { status_code: response.status };
    }
    const text = await response.text();
    answer.text += text;
    return response.headers.get('content-type')?.startsWith('application/json') && text !== ''
      ? { ...JSON.parse(text), status_code: response.status }
      : { status_code: response.status };
  };
  const post = (path: string, body: unknown = {}, exchanges = life.answers) =>
    ask(exchanges, path, { method: 'POST', body });
  const patch = (path: string, body: unknown) => ask(life.answers, path, { method: 'PATCH', body });
  /** Creates something; on a busy machine the database or a receiver may not respond in time. */
  const made = async (path: string, body: Json, exchanges = life.answers): Promise<Json & { id: string }> => {
    const { id, ...rest } = await until(async () => {
      const answer = await post(path, body, exchanges);
      const isLate = answer['status_code'] === 503 || String(answer['error']).startsWith('test delivery failed');
      return !isLate && answer;
    }, PATIENCE);
    t.is(typeof id, 'string', JSON.stringify(rest));
    return { ...rest, id: String(id) };
  };

  // Channels.
  const hookPath = `/hook/${fresh('webhook path')}?token=${fresh('webhook query')}`;
  const webhook = await made(
    '/v1/channels',
    {
      type: 'webhook',
      name: 'Hook',
      url: `${servers.receiver.url}${hookPath}`,
      headers: { Authorization: `Bearer ${fresh('webhook header')}` },
    },
    life.once,
  );
  fresh('first signing secret', String(webhook['signing_secret']));
  const webhookId = webhook.id;
  fresh(
    'signing secret',
    String((await post(`/v1/channels/${webhookId}/rotate-secret`, undefined, life.once))['signing_secret']),
  );
  await patch(`/v1/channels/${webhookId}/webhook`, { headers: { 'X-Key': fresh('second webhook header') } });
  const slackChannel = await post('/v1/channels', { type: 'slack', name: 'Team' }, life.once);
  const back = new URL(servers.slack.approve(String(slackChannel['authorize_url'])));
  fresh('Slack state', back.searchParams.get('state') ?? '');
  fresh('Slack code', back.searchParams.get('code') ?? '');
  for (let visit = 0; visit < 2; visit += 1) await ask(life.answers, `${back.pathname}${back.search}`);
  await ask(life.answers, `/connect/slack?state=${canary('forged')}&code=${life.secrets.get('Slack code')}`);
  await until(() => servers.slack.posts.length > 0, PATIENCE);
  fresh('Slack webhook', servers.slack.posts[0]?.webhook ?? '');
  const telegramChannel = await post('/v1/channels', { type: 'telegram', name: 'Phone' }, life.once);
  const code = fresh('connect code', new URL(String(telegramChannel['deep_link'])).searchParams.get('start') ?? '');
  servers.telegram.write(CHAT, `/start ${code}`);
  await until(() => servers.telegram.messagesTo(CHAT).length > 0, PATIENCE);
  servers.telegram.write(CHAT, `/start ${code}`);
  const mailbox = `${canary('mailbox')}@customer.example`;
  const emailChannel = await post('/v1/channels', { type: 'email', name: 'Mailbox', address: mailbox });
  const confirmation = await until(() => servers.mail.mailsTo(mailbox)[0], PATIENCE);
  const [confirmPath = ''] = /\/connect\/email\?code=\S+/.exec(confirmation.text) ?? [];
  fresh('confirmation code', new URLSearchParams(confirmPath.split('?')[1]).get('code') ?? '');
  for (const method of ['GET', 'POST', 'POST']) await ask(life.answers, confirmPath, { method });
  for (const password of ['', servers.mail.settings.signIn?.password ?? '']) {
    servers.mail.refusals.data = password === '' ? null : { code: 451, text: `4.0.0 ${password}` };
    await post(`/v1/channels/${String(emailChannel['id'])}/test`);
  }
  servers.mail.refusals.data = null;
  const sent = await until(() => servers.mail.mailsTo(mailbox)[1], PATIENCE);
  const [unsubscribePath = ''] = /\/connect\/email\/unsubscribe\?token=\S+/.exec(sent.text) ?? [];
  fresh('unsubscribe token', new URLSearchParams(unsubscribePath.split('?')[1]).get('token') ?? '');
  for (const method of ['GET', 'POST', 'POST']) await ask(life.answers, unsubscribePath, { method });
  const unused = await post('/v1/channels', { type: 'telegram', name: 'Later' }, life.once);
  fresh('unused connect code', new URL(String(unused['deep_link'])).searchParams.get('start') ?? '');

  // Monitors of all types with secrets.
  const request = () => ({
    secretHeaders: { 'X-Key': fresh('secret header') },
    auth: { type: 'basic', username: fresh('user name'), password: fresh('password') },
    body: fresh('secret body'),
    bodySecret: true,
  });
  const watch = async (name: string, settings: Json) =>
    (await made('/v1/monitors', { name, interval_seconds: 1, ...settings })).id;
  const shop = await watch('Shop', {
    target: servers.site.url('/shop'),
    method: 'POST',
    body_match: 'POST',
    check_spec: {
      request: request(),
      assertions: [
        { source: 'header', name: 'x-echo', op: 'contains', value: 'never there' },
        { source: 'json_body', path: '$.a', op: 'equals', value: '1' },
      ],
    },
  });
  const withHeader = (name: string) => ({ request: { secretHeaders: { 'X-Key': fresh(name) } } });
  await watch('Untrusted', {
    target: servers.untrustedUrl,
    check_spec: { request: { auth: { type: 'bearer', token: fresh('bearer token') } } },
  });
  await watch('Elsewhere', {
    target: servers.site.url('/redirect'),
    check_spec: withHeader('header before a redirect'),
  });
  await watch('Nobody there', { target: 'http://127.0.0.1:9/', check_spec: withHeader('header to nobody') });
  await watch('Echo', {
    type: 'tcp',
    target: servers.tcpTarget,
    check_spec: { transport: { payload: fresh('tcp payload'), payloadSecret: true, expect: 'never there' } },
  });
  await watch('Datagram', {
    type: 'udp',
    target: '127.0.0.1:9',
    check_spec: { transport: { payload: fresh('udp payload'), payloadSecret: true } },
  });
  if (ownAgentId !== null)
    await watch('Intranet', {
      target: servers.site.url('/intranet'),
      agent_sources: [ownAgentId],
      check_spec: withHeader('header at an agent'),
    });
  const backup = { name: 'Backup', type: 'heartbeat', interval_seconds: 2, grace_seconds: 60 };
  const { id: heartbeat } = await made('/v1/monitors', backup);
  const read = (await ask(life.once, `/v1/monitors/${heartbeat}`))['check_spec'] as { heartbeat: { token: string } };
  const ping = fresh('heartbeat token', read.heartbeat.token);
  for (const part of ['', '/start', '/fail', '/7', '/nowhere'])
    await ask(life.answers, `/ping/${ping}${part}`, {
      method: 'POST',
      body: 'done',
      headers: { 'Content-Type': 'text/plain' },
    });
  await ask(life.answers, `/ping/${ping}`, { method: 'DELETE' });

  await ask(life.once, '/v1/ping-key', { method: 'POST' });
  const shown = (await ask(life.once, '/v1/ping-key'))['ping_key'] as { key: string };
  const pingKey = fresh('ping key', shown.key);
  for (const part of ['canary', 'canary?create=1', 'canary/fail', 'Nowhere', 'canary?create=no', ''])
    await ask(life.answers, `/ping/${pingKey}/${part}`);
  await ask(life.answers, `/ping/${pingKey}/canary`, { method: 'DELETE' });

  // Used, echoed, changed.
  const isSent = (name: string) => servers.arrived.some((text) => text.includes(life.secrets.get(name) ?? '?'));
  await until(() => isSent('secret header') && isSent('secret body'), PATIENCE);
  const received = (event: string, times = 1) =>
    until(() => servers.receiver.events.filter((name) => name === event).length >= times, PATIENCE);
  await received('monitor.down', 5);
  servers.receiver.status = 500;
  servers.site.status = 503;
  const changed = { request: { ...request(), secretHeaders: { 'X-Key': fresh('changed header') } } };
  for (const exchanges of [life.answers, life.toReader])
    await ask(exchanges, `/v1/monitors/${shop}`, { method: 'PATCH', body: { body_match: null, check_spec: changed } });
  await patch(`/v1/monitors/${shop}`, {
    name: 'Shop 2',
    check_spec: {
      request: { preserveSecretHeaders: true, auth: { type: 'basic' }, bodySecret: true, preserveBody: true },
    },
  });
  await until(() => isSent('changed header'), PATIENCE);
  servers.site.status = 200;
  await received('monitor.up');
  servers.receiver.isHeld = true;
  servers.site.status = 500;
  await until(async () => (await ask(life.answers, `/v1/monitors/${shop}`))['status'] === 'down', PATIENCE);

  await ask(life.answers, `/v1/channels/${webhookId}/test`, { method: 'POST' });
  servers.receiver.isHeld = false;
  servers.receiver.status = 404;
  for (const id of [webhookId, String(slackChannel['id']), String(telegramChannel['id'])])
    await ask(life.answers, `/v1/channels/${id}/test`, { method: 'POST' });
  await post(`/v1/channels/${webhookId}/replay`, { since: 1 });

  await refuseEverything({ ask, life, servers, fresh, shop, webhookId });
  for (const fault of faults) {
    await fault.begin();
    await patch(`/v1/monitors/${shop}`, { check_spec: withHeader('header in a fault') });
    await post(
      '/v1/channels',
      { type: 'webhook', name: 'Hook', url: `${servers.receiver.url}/${fresh('webhook path in a fault')}` },
      life.once,
    );
    await ask(life.answers, '/readyz');
    await ask(life.answers, `/ping/${ping}`);
    await fault.end();
    await until(async () => (await ask(life.answers, '/readyz'))['status_code'] === 200, PATIENCE);
  }
  servers.receiver.status = 200;
  servers.slack.revoke();
  servers.telegram.refusals.push({ error_code: 403, description: 'Forbidden: bot was blocked by the user' });
  servers.site.status = 200;
  await until(async () => (await ask(life.answers, `/v1/monitors/${shop}`))['status'] === 'up', PATIENCE);
  await readEverything({ ask, life, readPaths });
  return life;
}

type RequestOptions = { method?: string; body?: unknown; headers?: Record<string, string> };

type Asking = { ask: (exchanges: Exchange[], path: string, request?: RequestOptions) => Promise<Json>; life: Life };

/** Sends secrets in the wrong fields: no refusal may repeat them. */
async function refuseEverything({
  ask,
  life,
  servers,
  fresh,
  shop,
  webhookId,
}: Asking & {
  servers: EchoingServers;
  fresh: (name: string) => string;
  shop: string;
  webhookId: string;
}): Promise<void> {
  const secret = fresh('refused secret');
  const expectRefusal = async (path: string, request: RequestOptions = {}): Promise<void> => {
    // On a busy machine the database may not respond in time.
    const { status_code: status } = await until(async () => {
      const answer = await ask(life.answers, path, request);
      return answer['status_code'] !== 503 && answer;
    }, PATIENCE);
    if (Number(status) < 400 || Number(status) >= 500)
      throw new Error(
        `${request.method ?? 'GET'} ${path} was answered with ${String(status)}: ${JSON.stringify(request)}`,
      );
  };
  const requests = [
    { secretHeaders: { 'X-Key': `${secret}\r\nX-Other: 1` } },
    { secretHeaders: { 'X-Key': [secret] } },
    { secretHeaders: { 'X-Key': secret.repeat(400) } },
    { secretHeaders: secret },
    { secretHeaders: { 'X-Key': secret }, headers: { 'x-key': 'twice' } },
    { auth: { type: 'bearer', token: `${secret}\n` } },
    { auth: { type: 'basic', username: `a:${secret}`, password: 7 } },
    { auth: { type: 'digest', password: secret } },
    { auth: secret },
    { auth: { type: 'bearer', token: { value: secret } } },
    { body: { value: secret }, bodySecret: true },
    { body: secret, bodySecret: secret },
    { bodySecret: true, contentType: 'text/plain\n', body: secret },
  ];
  const bodies: unknown[] = [
    ...requests.map((request) => ({ name: 'Refused', target: servers.site.url('/'), check_spec: { request } })),
    { name: 'Refused', target: `http://user:${secret}@127.0.0.1/` },
    { name: 'Refused', type: 'vendor', target: `https://user:${secret}@127.0.0.1/` },
    {
      name: 'Refused',
      type: 'udp',
      target: '127.0.0.1:9',
      check_spec: { transport: { payload: `\\q${secret}`, payloadSecret: true } },
    },
    {
      name: 'Refused',
      type: 'udp',
      target: '127.0.0.1:9',
      check_spec: { transport: { payload: secret, payloadEncoding: 'hex', payloadSecret: true } },
    },
    {
      name: 'Refused',
      type: 'tcp',
      target: '127.0.0.1:9',
      check_spec: { transport: { payload: 'hello', payloadSecret: secret } },
    },
    { name: 'Refused', token: secret },
    `{"name": "Refused", "check_spec": {"request": {"body": "${secret}`,
    `{"name": "Refused", "password": ${secret}}`,
  ];
  for (const body of bodies) {
    await expectRefusal('/v1/monitors', { method: 'POST', body });
    await expectRefusal(`/v1/monitors/${shop}`, { method: 'PATCH', body });
  }
  const urls = [
    `http://127.0.0.1/${secret}`,
    `https://user:${secret}@127.0.0.1/`,
    `https://127.0.0.1:9/${secret}`,
    `${servers.receiver.url}/${secret}`,
    `//${secret}`,
    `https://${secret}.invalid/`,
    { url: secret },
  ];
  for (const url of urls)
    await expectRefusal('/v1/channels', { method: 'POST', body: { type: 'webhook', name: 'Refused', url } });
  await expectRefusal(`/v1/channels/${webhookId}`, { method: 'PATCH', body: { url: `https://127.0.0.1/${secret}` } });
  await expectRefusal(`/v1/channels/${webhookId}`, { method: 'PATCH', body: { signing_secret: secret } });
  // Places where users put tokens by mistake. The response may repeat the token to its owner, but no other text may
  // keep it.
  const misplaced = fresh('misplaced secret');
  for (const path of [
    `/v1/monitors?access_token=${misplaced}`,
    `/v1/monitors?limit=${misplaced}`,
    `/v1/monitors/${misplaced}`,
    `/v1/${misplaced}`,
    `/ping/${misplaced}`,
    `/telegram/${misplaced}`,
    `/connect/slack?code=${misplaced}&state=${misplaced}`,
  ]) {
    await expectRefusal(path);
  }
  for (const Authorization of [
    `Bearer ${secret}`,
    `Bearer spk_${secret}`,
    `Basic ${Buffer.from(`x:${secret}`).toString('base64')}`,
    secret,
  ]) {
    for (const path of ['/v1/monitors', '/agent/v1/pull', '/queues'])
      await expectRefusal(path, { headers: { Authorization } });
  }
}

/** Reads everything that the description lists, with a token that can write and one that cannot. */
async function readEverything({ ask, life, readPaths }: Asking & { readPaths: readonly string[] }): Promise<void> {
  const idsOf = async (path: string): Promise<string[]> => {
    const [list] = Object.values(await ask(life.answers, path));
    return Array.isArray(list) ? list.map(({ id }: { id: string }) => id).filter((id) => typeof id === 'string') : [];
  };
  const ids: Record<string, string[]> = {};
  for (const kind of ['monitors', 'incidents', 'channels', 'agents', 'reports'])
    ids[kind] = (await idsOf(`/v1/${kind}`)).slice(0, 10);
  ids['deliveries'] = (
    await Promise.all((ids['channels'] ?? []).map((id) => idsOf(`/v1/channels/${id}/deliveries`)))
  ).flatMap((found) => found.slice(0, 4));
  for (const path of readPaths) {
    const kind = path.split('/')[2] ?? '';
    const paths = path.includes('{id}') ? (ids[kind] ?? []).map((id) => path.replace('{id}', id)) : [path];
    for (const filledPath of paths) {
      // Some reads show a secret to tokens with write access: a heartbeat's token, and the ping key.
      const isHeartbeat = life.once.some(({ request }) => request === `GET ${filledPath.slice(0, 40)}`);
      await ask(isHeartbeat ? life.once : life.answers, filledPath);
      await ask(life.toReader, filledPath);
    }
  }
}

/** Client id of the Slack app, for the environment of a service beside these servers. */
export const SLACK_APP = SLACK_CLIENT_ID;

/** Collects a stream's data until the stream or the test ends. */
async function listenOn(response: Response, answer: Exchange): Promise<void> {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) answer.text += decoder.decode(chunk, { stream: true });
  } catch {
    // The service stopped, or the test is over.
  }
}
