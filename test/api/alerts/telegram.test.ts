import { Agent, request as httpRequest } from 'node:http';
import anyTest, { type TestFn } from 'ava';
import { isError, send, withApiServer, type Answer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const ADA = 5_000_000_001;
let updates = 880_000_000;

test('a /start update connects the channel and gets the greeting in its response', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const created = await owner('POST', '/v1/channels', { type: 'telegram', name: 'Phone' });
  const answer = await hand(api, messageOf(ADA, `/start ${codeOf(created)}`));
  t.is(answer.status, 200, answer.text);
  t.like(answer.json, {
    method: 'sendMessage',
    chat_id: ADA,
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  });
  t.regex(String(answer.json['text']), /Connected to Spotcheck/);
  t.like((await owner('GET', `/v1/channels/${created.json['id']}`)).json, {
    status: 'connected',
    enabled: true,
  });
  const again = await hand(api, messageOf(ADA, `/start ${codeOf(created)}`));
  t.regex(String(again.json['text']), /Alerts arrive here from “Phone”/);
  const other = await hand(api, messageOf(ADA + 1, `/start ${codeOf(created)}`));
  t.regex(String(other.json['text']), /used already/);
});

test('of several chats that send one code concurrently only one is connected', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const created = await owner('POST', '/v1/channels', { type: 'telegram', name: 'Phone' });
  const chats = [ADA + 10, ADA + 11, ADA + 12, ADA + 13];
  const answers = await Promise.all(chats.map((chat) => hand(api, messageOf(chat, `/start ${codeOf(created)}`))));
  t.deepEqual(
    answers
      .map(({ json }) =>
        /Connected to/.test(String(json['text']))
          ? 'connected'
          : /used already/.test(String(json['text']))
            ? 'used'
            : json,
      )
      .toSorted(),
    ['connected', 'used', 'used', 'used'],
  );
});

test('/stop disables the channels of the chat, and a second one finds none', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const created = await owner('POST', '/v1/channels', { type: 'telegram', name: 'Phone & co' });
  await hand(api, messageOf(ADA + 20, `/start ${codeOf(created)}`));
  t.regex(String((await hand(api, messageOf(ADA + 20, '/stop'))).json['text']), /Disabled: “Phone &amp; co”/);
  t.regex(String((await hand(api, messageOf(ADA + 20, '/stop'))).json['text']), /No alerts arrive here/);
  const again = await hand(api, messageOf(ADA + 20, `/start ${codeOf(created)}`));
  t.regex(String(again.json['text']), /Disabled: “Phone &amp; co”/);
  const { json } = await owner('GET', `/v1/channels/${created.json['id']}`);
  t.like(json, { status: 'connected', enabled: false });
});

test('/stop is reported once to the other channels of the account, with one job', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const [first, other] = [
    await owner('POST', '/v1/channels', { type: 'telegram', name: 'Phone' }),
    await owner('POST', '/v1/channels', { type: 'telegram', name: 'Family' }),
  ];
  await hand(api, messageOf(ADA + 50, `/start ${codeOf(first)}`));
  await hand(api, messageOf(ADA + 51, `/start ${codeOf(other)}`));
  const stop = messageOf(ADA + 50, '/stop');
  for (const update of [stop, stop, messageOf(ADA + 50, '/stop')]) await hand(api, update);
  const id = other.json['id'];
  const { deliveries } = (await owner('GET', `/v1/channels/${id}/deliveries?event=channel.disconnected`)).json;
  t.is(deliveries.length, 1);
  t.deepEqual(
    api.enqueuedAttempts.filter(({ channelId }) => channelId === id).map(({ deliveryId }) => deliveryId),
    [deliveries[0]?.id],
  );
});

test('a repeated update changes nothing and gets an empty response, whichever process receives it', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const other = await api.another();
  const created = await owner('POST', '/v1/channels', { type: 'telegram', name: 'Phone' });
  const path = `/v1/channels/${created.json['id']}`;
  await hand(api, messageOf(ADA + 40, `/start ${codeOf(created)}`));
  const stop = messageOf(ADA + 40, '/stop');
  t.regex(String((await hand(api, stop)).json['text']), /No more alerts/);
  t.is((await owner('PATCH', path, { enabled: true })).status, 200);
  for (const base of [api.url, other]) t.deepEqual((await hand({ ...api, url: base }, stop)).json, {});
  t.like((await owner('GET', path)).json, { enabled: true });
  const restart = messageOf(ADA + 40, '/start');
  const answers = await Promise.all(
    [api.url, other, api.url, other].map((base) => hand({ ...api, url: base }, restart)),
  );
  t.deepEqual(answers.map(({ json }) => Object.keys(json).length > 0).toSorted(), [false, false, false, true]);
});

test('an update that failed is processed when it is sent again', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const created = await owner('POST', '/v1/channels', { type: 'telegram', name: 'Breaking' });
  await hand(api, messageOf(ADA + 41, `/start ${codeOf(created)}`));
  const stop = messageOf(ADA + 41, '/stop');
  await api.database.pool.query(
    `ALTER TABLE channels ADD CONSTRAINT broken CHECK (enabled OR name <> 'Breaking') NOT VALID`,
  );
  t.is((await hand(api, stop)).status, 500);
  await api.database.pool.query('ALTER TABLE channels DROP CONSTRAINT broken');
  t.regex(String((await hand(api, stop)).json['text']), /No more alerts/);
});

test('an update that needs no reply gets an empty response', async (t) => {
  const { api } = t.context;
  for (const update of [
    messageOf(ADA, 'hello'),
    { update_id: 1, my_chat_member: { chat: { id: ADA + 30 }, new_chat_member: { status: 'kicked' } } },
    { nonsense: true },
    [],
  ]) {
    const answer = await hand(api, update);
    t.is(answer.status, 200);
    t.deepEqual(answer.json, {});
  }
});

test('without both secrets the path returns a 404', async (t) => {
  const { api } = t.context;
  const { path, header } = secretsOf(api);
  const body = messageOf(ADA, '/stop');
  for (const [given, headers] of [
    [path, {}],
    [path, { 'X-Telegram-Bot-Api-Secret-Token': path }],
    [path, { 'X-Telegram-Bot-Api-Secret-Token': `${header}x` }],
    [header, { 'X-Telegram-Bot-Api-Secret-Token': header }],
    ['', { 'X-Telegram-Bot-Api-Secret-Token': header }],
    ['%00', { 'X-Telegram-Bot-Api-Secret-Token': header }],
  ] as [string, Record<string, string>][]) {
    isError(t, await send(`${api.url}/telegram/${given}`, { method: 'POST', body, headers }), {
      status: 404,
      error: /^there is no endpoint at this path(?:: paths have no slash at their end)?$/,
    });
  }
  isError(
    t,
    await send(`${api.url}/telegram/${path}`, {
      method: 'GET',
      headers: { 'X-Telegram-Bot-Api-Secret-Token': header },
    }),
    { status: 404, error: 'there is no endpoint at this path' },
  );
});

test('a body that is malformed, too large or of another type gets a 400, 413 or 415', async (t) => {
  const { api } = t.context;
  isError(t, await hand(api, '{"update_id":'), { status: 400, error: /JSON/ });
  isError(t, await hand(api, { text: 'x'.repeat(300_000) }), { status: 413, error: /262144/ });
  isError(t, await hand(api, 'x', { 'Content-Type': 'text/plain' }), { status: 415, error: /application\/json/ });
});

test('a request without the secrets is refused before its body is read', async (t) => {
  const { api } = t.context;
  const agent = new Agent();
  t.teardown(() => agent.destroy());
  const status = await new Promise((resolve, reject) => {
    const request = httpRequest(`${api.url}/telegram/nope`, {
      method: 'POST',
      agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': 200_000 },
    });
    request.once('response', (response) => resolve(response.statusCode)).once('error', reject);
    request.flushHeaders();
  });
  t.is(status, 404);
});

test('neither the secrets nor the text of a chat are logged', async (t) => {
  const { api } = t.context;
  await hand(api, messageOf(ADA, 'a private word'));
  const { path, header } = secretsOf(api);
  const log = JSON.stringify(api.logLines);
  for (const secret of [path, header, 'a private word']) t.false(log.includes(secret));
  t.true(api.logLines.some(({ route }) => route === '/telegram/{secret}'));
});

/** Sends an update the way Telegram does. */
async function hand(api: ApiServer, update: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const { path, header } = secretsOf(api);
  return await send(`${api.url}/telegram/${path}`, {
    method: 'POST',
    body: update,
    headers: { 'X-Telegram-Bot-Api-Secret-Token': header, ...headers },
  });
}

function secretsOf({ database }: ApiServer): { path: string; header: string } {
  return {
    path: database.secrets.derive('telegram:webhook-path')[0],
    header: database.secrets.derive('telegram:webhook-header')[0],
  };
}

function messageOf(chatId: number, text: string): object {
  updates += 1;
  return {
    update_id: updates,
    message: {
      message_id: 1,
      from: { id: chatId, is_bot: false, first_name: 'Ada' },
      chat: { id: chatId, first_name: 'Ada', type: 'private' },
      date: 1,
      text,
    },
  };
}

function codeOf({ json }: Answer): string {
  return new URL(String(json['deep_link'])).searchParams.get('start') ?? '';
}
