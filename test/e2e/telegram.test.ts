import test from 'ava';
import { startHttpServer } from '../helpers/http-server.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { PATIENTLY } from '../helpers/story.ts';
import { startTelegramServer } from '../helpers/telegram-server.ts';
import { until } from '../helpers/until.ts';

const ADA = 5_000_000_001;
const TIMEOUT = { timeoutMs: 120_000 };

test('a user who presses start behind the link gets an outage and its recovery, with the duration', async (t) => {
  const telegram = await startTelegramServer(t);
  const health = { status: 200 };
  const { port } = await startHttpServer(t, (_request, response) => void response.writeHead(health.status).end('ok'));
  const { program, call } = await startService(t, {
    DATA_DIR: await newPreparedDataDir(t),
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_BOT_NAME: 'spotcheck_bot',
    TELEGRAM_API_URL: telegram.url,
  });
  const channel = await call('POST', '/channels', { type: 'telegram', name: 'My phone' });
  const id = channel.json['id'];
  const link = new URL(String(channel.json['deep_link']));
  t.is(`${link.origin}${link.pathname}`, 'https://t.me/spotcheck_bot');
  t.is((await call('GET', `/channels/${id}`)).json['status'], 'pending');
  t.is((await call('POST', `/channels/${id}/test`)).status, 409);

  // Telegram's app sends this when a user presses Start behind such a link.
  telegram.write(ADA, `/start ${link.searchParams.get('start')}`);
  const messages = () => telegram.messagesTo(ADA);
  await until(() => messages().some((message) => message.includes('Connected to Spotcheck')), TIMEOUT);
  t.like((await call('GET', `/channels/${id}`)).json, { status: 'connected', enabled: true });
  t.is((await call('POST', `/channels/${id}/test`)).status, 200);
  await until(() => messages().some((message) => message.includes('Test: My phone')), TIMEOUT);

  const monitor = await call('POST', '/monitors', {
    name: 'Shop <1>',
    target: `http://127.0.0.1:${port}/`,
    ...PATIENTLY,
  });
  await until(async () => (await call('GET', `/monitors/${monitor.json['id']}`)).json['status'] === 'up', TIMEOUT);
  health.status = 503;
  const down = await until(() => messages().find((message) => message.includes('Down: ')), TIMEOUT);
  t.regex(
    down,
    new RegExp(
      String.raw`^🔴 <b>Down: Shop &lt;1&gt;</b>\nHTTP 503 instead of 2xx\n\nFailing from: local\n` +
        String.raw`Since: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for (?:less than a second|\d+ seconds?)\n\n` +
        String.raw`<a href="[^"]+/monitors/mon_\w+">View monitor</a>$`,
    ),
  );
  health.status = 200;
  const up = await until(() => messages().find((message) => message.includes('Recovered: ')), TIMEOUT);
  t.regex(
    up,
    new RegExp(
      String.raw`^🟢 <b>Recovered: Shop &lt;1&gt;</b>\nWorking again\n\nAt: [-\d]+ [:\d]+ UTC\n` +
        String.raw`Duration: (?:less than a second|\d+ seconds?)\n`,
    ),
  );
  // The first up of a monitor is not sent (D-44): one message of each.
  t.deepEqual(
    messages().map((message) => /<b>([^:<]+)/.exec(message)?.[1]),
    ['Connected to Spotcheck', 'Test', 'Down', 'Recovered'],
  );

  telegram.block(ADA);
  await until(async () => (await call('GET', `/channels/${id}`)).json['enabled'] === false, TIMEOUT);
  t.is(await program.stop(), 0, program.output());
  t.false(program.output().includes(telegram.token.split(':')[1] ?? ''), program.output());
});

test('with a public https address Telegram delivers messages by webhook and gets replies as responses', async (t) => {
  const telegram = await startTelegramServer(t);
  const { program, url, call } = await startService(t, {
    DATA_DIR: await newPreparedDataDir(t),
    PUBLIC_URL: 'https://spotcheck.example',
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_API_URL: telegram.url,
  });
  const { url: webhookUrl, secret_token: secret = '' } = await until(() => telegram.webhook, TIMEOUT);
  const channel = await call('POST', '/channels', { type: 'telegram', name: 'My phone' });
  const code = new URL(String(channel.json['deep_link'])).searchParams.get('start');
  // A TLS proxy in front of the service would forward this.
  const answer = await fetch(`${url}${new URL(webhookUrl).pathname}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Telegram-Bot-Api-Secret-Token': secret },
    body: JSON.stringify({
      update_id: 1,
      message: { message_id: 1, date: 1, chat: { id: ADA, type: 'private' }, text: `/start ${code}` },
    }),
  });
  t.is(answer.status, 200);
  t.like(await answer.json(), { method: 'sendMessage', chat_id: ADA });
  t.is((await call('GET', `/channels/${channel.json['id']}`)).json['status'], 'connected');
  t.false(telegram.calls.some(({ method }) => method === 'getUpdates'));
  t.is(await program.stop(), 0, program.output());
  for (const hidden of [secret, new URL(webhookUrl).pathname.split('/').at(-1) ?? '', String(code)])
    t.false(program.output().includes(hidden));
});
