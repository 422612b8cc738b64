import test, { type ExecutionContext } from 'ava';
import nock from 'nock';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import { HOUR_MS } from '../../../core/time.ts';
import { createHttpClient, type HttpClient } from '../../../net/http-client.ts';
import { attemptTelegram } from '../../../notifications/telegram/sending.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { startListener } from '../../helpers/listener.ts';
import { startTelegramServer } from '../../helpers/telegram-server.ts';

const TOKEN = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';
const PATH = `/bot${TOKEN}/sendMessage`;
const MESSAGE: ChatMessage = { tone: 'bad', title: 'Down: Shop', text: 'Connection refused', facts: [], link: null };

test.before(() => {
  nock.disableNetConnect();
  nock.enableNetConnect('127.0.0.1');
});
test.afterEach(() => nock.cleanAll());
test.after.always(() => nock.restore());

test.serial("a message is sent as JSON to the bot's sendMessage, and the response is stored", async (t) => {
  let body: unknown;
  nock('https://api.telegram.org')
    .post(PATH, (sent: unknown) => {
      body = sent;
      return true;
    })
    .matchHeader('content-type', 'application/json')
    .reply(200, {
      ok: true,
      result: { message_id: 5, date: 1, chat: { id: 42, type: 'private' }, text: 'Down: Shop' },
    });
  const attempt = await attemptTelegram('42', MESSAGE, sending());
  t.like(attempt, {
    outcome: 'delivered',
    statusCode: 200,
    error: null,
    retryAfterMs: null,
    channelProblem: null,
    movedTo: null,
  });
  t.true(attempt.response?.startsWith('{"ok":true,"result":{"message_id":5'));
  t.deepEqual(body, {
    chat_id: 42,
    text: '🔴 <b>Down: Shop</b>\nConnection refused',
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  });
});

const LOST: readonly [status: number, description: string][] = [
  [403, 'Forbidden: bot was blocked by the user'],
  [403, 'Forbidden: user is deactivated'],
  [403, 'Forbidden: bot was kicked from the supergroup chat'],
  [403, 'Forbidden: bot is not a member of the channel chat'],
  [400, 'Bad Request: chat not found'],
  [400, 'Bad Request: PEER_ID_INVALID'],
  [400, 'Bad Request: not enough rights to send text messages to the chat'],
  [400, 'Bad Request: need administrator rights in the channel chat'],
  [400, 'Bad Request: CHAT_WRITE_FORBIDDEN'],
  [400, 'Bad Request: TOPIC_CLOSED'],
];
for (const [status, description] of LOST) {
  test.serial(`${status} ${description}: no retry, and a problem with the channel`, async (t) => {
    refuse(status, { error_code: status, description });
    const attempt = await attemptTelegram('42', MESSAGE, sending());
    t.like(attempt, {
      outcome: 'failed',
      statusCode: status,
      error: `Telegram responded with ${status}: ${description}`,
    });
    t.true(attempt.channelProblem?.startsWith(`Telegram responded with ${status}: ${description}`));
  });
}

test.serial('a message that Telegram rejects as malformed fails without a channel problem', async (t) => {
  refuse(400, { error_code: 400, description: "Bad Request: can't parse entities: unsupported start tag" });
  t.like(await attemptTelegram('42', MESSAGE, sending()), { outcome: 'failed', statusCode: 400, channelProblem: null });
});

test.serial('429 is retried after its retry_after, an hour at most', async (t) => {
  refuse(429, { error_code: 429, description: 'Too Many Requests: retry after 37', parameters: { retry_after: 37 } });
  t.like(await attemptTelegram('42', MESSAGE, sending()), {
    outcome: 'retry',
    statusCode: 429,
    retryAfterMs: 37_000,
    channelProblem: null,
  });
  refuse(429, {
    error_code: 429,
    description: 'Too Many Requests: retry after 99999',
    parameters: { retry_after: 99_999 },
  });
  t.is((await attemptTelegram('42', MESSAGE, sending())).retryAfterMs, 3_600_000);
  refuse(429, { error_code: 429, description: 'Wait', parameters: { retry_after: 36.0123456 } });
  t.is((await attemptTelegram('42', MESSAGE, sending())).retryAfterMs, 37_000, 'whole milliseconds, and not earlier');
});

for (const [status, answer] of [
  [500, { ok: false, error_code: 500, description: 'Internal Server Error' }],
  [502, '<html><h1>502 Bad Gateway</h1></html>'],
  [403, '<html>the proxy says no</html>'],
  [200, 'not the Bot API'],
  // Such a code would not fit in the column of its attempt.
  [200, { ok: false, error_code: 70_000, description: 'Not a status' }],
  [500, { ok: false, error_code: 429.5, description: 'Not a status' }],
] as const) {
  test.serial(
    `${status} with ${typeof answer === 'string' ? 'something that is not the Bot API' : JSON.stringify(answer)} is ` +
      'retried without a channel problem',
    async (t) => {
      nock('https://api.telegram.org').post(PATH).reply(status, answer);
      t.like(await attemptTelegram('42', MESSAGE, sending()), {
        outcome: 'retry',
        statusCode: status,
        channelProblem: null,
      });
    },
  );
}

test.serial('a bot that Telegram does not know is retried, since only the operator can fix it', async (t) => {
  refuse(401, { error_code: 401, description: 'Unauthorized' });
  t.like(await attemptTelegram('42', MESSAGE, sending()), {
    outcome: 'retry',
    statusCode: 401,
    error: "Telegram does not know this installation's bot: it responded with 401",
    channelProblem: null,
  });
});

test.serial('a group that was upgraded to a supergroup is followed in the same attempt', async (t) => {
  refuse(400, {
    error_code: 400,
    description: 'Bad Request: group chat was upgraded to a supergroup chat',
    parameters: { migrate_to_chat_id: -1_001_234_567_890 },
  });
  nock('https://api.telegram.org')
    .post(PATH, {
      chat_id: -1_001_234_567_890,
      text: /Down/,
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    })
    .reply(200, { ok: true, result: {} });
  t.like(await attemptTelegram('-5', MESSAGE, sending()), {
    outcome: 'delivered',
    statusCode: 200,
    movedTo: '-1001234567890',
    channelProblem: null,
  });
});

test.serial(
  'the second request of an attempt has the rest of the time even if the clock is set meanwhile',
  async (t) => {
    refuse(400, { error_code: 400, description: 'Bad Request: upgraded', parameters: { migrate_to_chat_id: -1 } });
    nock('https://api.telegram.org').post(PATH).reply(200, { ok: true, result: {} });
    const { bot, deadlineMs } = sending();
    const now = Date.now;
    t.teardown(() => (Date.now = now));
    const deadlines: number[] = [];
    const http: HttpClient = async (request) => {
      deadlines.push(request.deadlineMs);
      const exchange = await bot.http(request);
      Date.now = () => now() + HOUR_MS;
      return exchange;
    };
    t.is((await attemptTelegram('-5', MESSAGE, { bot: { ...bot, http }, deadlineMs })).outcome, 'delivered');
    const [first = 0, second = 0] = deadlines;
    t.true(second > 1 && second <= first, `${second} ms after ${first} ms`);
  },
);

test.serial('the bot token is redacted if the server quotes the URL', async (t) => {
  refuse(400, { error_code: 400, description: `Bad Request: no method at /bot${TOKEN}/x` });
  const refused = await attemptTelegram('42', MESSAGE, sending());
  nock('https://api.telegram.org')
    .post(PATH)
    .reply(
      502,
      `upstream https://api.telegram.org${PATH} and ${encodeURIComponent(TOKEN)} and ` +
        'AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw failed',
    );
  const failed = await attemptTelegram('42', MESSAGE, sending());
  const all = JSON.stringify([refused, failed]);
  t.false(all.includes('AAHdqTcv'), all);
  t.true(failed.response?.includes('[secret]'));
});

test('a server that is down, hangs up or does not respond is retried, on real sockets', async (t) => {
  const away = await unusedPort(t);
  t.like(await attemptTelegram('42', MESSAGE, sending(`http://127.0.0.1:${away}`)), {
    outcome: 'retry',
    statusCode: null,
    error: 'Connection refused',
    response: null,
  });
  const { port: closing } = await startHttpServer(t, (request) => void request.socket.destroy());
  t.like(await attemptTelegram('42', MESSAGE, sending(`http://127.0.0.1:${closing}`)), {
    outcome: 'retry',
    error: 'The connection was closed without a response',
  });
  const { port: silent } = await startHttpServer(t, () => undefined);
  const attempt = await attemptTelegram('42', MESSAGE, sending(`http://127.0.0.1:${silent}`, 4000));
  t.like(attempt, { outcome: 'retry', error: 'Timed out while waiting for the response' });
  t.true(attempt.durationMs >= 3999 && attempt.durationMs < 30_000, `${attempt.durationMs} ms`);
});

test('a simulated Bot API shows the message in an open chat and rejects an unknown one', async (t) => {
  const telegram = await startTelegramServer(t);
  telegram.open(42);
  t.is((await attemptTelegram('42', MESSAGE, sending(telegram.url))).outcome, 'delivered');
  t.deepEqual(telegram.messagesTo(42), ['🔴 <b>Down: Shop</b>\nConnection refused']);
  t.regex((await attemptTelegram('43', MESSAGE, sending(telegram.url))).channelProblem ?? '', /chat not found/);
});

function refuse(status: number, refusal: object): void {
  nock('https://api.telegram.org')
    .post(PATH)
    .reply(status, { ok: false, ...refusal });
}

function sending(apiUrl = 'https://api.telegram.org', deadlineMs = 60_000) {
  return {
    bot: { token: TOKEN, apiUrl, http: createHttpClient({ allowPrivateNetwork: true }) },
    deadlineMs,
  };
}

async function unusedPort(t: ExecutionContext): Promise<number> {
  const { port, close } = await startListener(t);
  await close();
  return port;
}
