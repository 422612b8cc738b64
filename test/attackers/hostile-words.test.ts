import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openPage, startBrowser } from '../helpers/browser.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startRawServer } from '../helpers/http-server.ts';
import { startService, type Service } from '../helpers/running-service.ts';
import { eventsAt } from '../helpers/story.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';
import { HOSTILE_TEXTS } from './hostile-texts.ts';

const BOARD_PASSWORD = randomBytes(12).toString('base64url');

/** Returns the part of a text that fits into a header line, as the bytes that are sent. */
const inOneLine = (text: string): string => Buffer.from(text.replaceAll(/[\0\r\n]/g, '')).toString('latin1');

/** Starts a site where every possible part is hostile: the status text, the headers, the body. */
async function startTarget(t: ExecutionContext): Promise<number> {
  let turn = 0;
  const { port } = await startRawServer(t, (socket) => {
    socket.once('data', () => {
      const text = HOSTILE_TEXTS[(turn += 1) % HOSTILE_TEXTS.length] ?? '';
      const body = Buffer.from(text);
      socket.write(
        `HTTP/1.1 503 ${inOneLine(text)}\r\nServer: ${inOneLine(text)}\r\nLocation: ` +
          `${inOneLine(text)}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
        'latin1',
      );
      socket.end(body);
    });
  });
  return port;
}

/** Creates a monitor for each text that may be a name, with the text in its name and its URL. */
async function watchAll({ call }: Service, port: number): Promise<string[]> {
  const names: string[] = [];
  for (const name of HOSTILE_TEXTS.filter((text) => text.isWellFormed() && !text.includes('\0'))) {
    const { status, json } = await call('POST', '/monitors', {
      name,
      target: `http://127.0.0.1:${port}/${encodeURIComponent(name)}`,
      interval_seconds: 5,
      down_after_failures: 1,
    });
    if (status !== 201) throw new Error(`${JSON.stringify(name)}: ${JSON.stringify(json)}`);
    names.push(name);
  }
  return names;
}

/** Opens the queues of checks as an operator sees them; returns signs that a hostile name took effect. */
async function openBoard(t: ExecutionContext, { url }: Service, names: readonly string[]): Promise<string[]> {
  const { page, complaints } = await openPage(t, await startBrowser(t), { url });
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.setExtraHTTPHeaders({
    Authorization: `Basic ${Buffer.from(`anyone:${BOARD_PASSWORD}`).toString('base64')}`,
  });
  await page.goto('/queues/queue/check-local?status=completed');
  await until(async () => {
    const shown = String(await page.evaluate('document.body.innerText'));
    return names.some((name) => shown.includes(name));
  });
  const made = (await page.evaluate(
    `[...document.querySelectorAll('img[src="x"], script:not([src], [type="application/json"]), [onmouseover], ` +
      `a[href^="tg:"], a[href^="javascript:"]')].map((each) => each.outerHTML)`,
  )) as string[];
  // The board's page requests fonts from another host, which its policy blocks.
  return [...dialogs, ...made, ...complaints.filter((complaint) => !complaint.includes('https://fonts.'))];
}

test('with hostile names and responses every log line is one of our objects, and the board shows text', async (t) => {
  const [port, receiver, { databaseUrl, drop }] = await Promise.all([
    startTarget(t),
    startReceiver(t),
    createTestDatabase(),
  ]);
  t.teardown(drop);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    QUEUE_BOARD_PASSWORD: BOARD_PASSWORD,
    NODE_EXTRA_CA_CERTS: receiver.caFile,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
    DELIVERY_RETRY_SECONDS: '0.3,0.3',
    LOG_LEVEL: 'trace',
  };
  const service = await startService(t, env, token);
  t.is(
    (await service.call('POST', '/channels', { type: 'webhook', name: HOSTILE_TEXTS[0] ?? '', url: receiver.url }))
      .status,
    201,
  );
  Object.assign(receiver.answer, { status: 500, body: HOSTILE_TEXTS.join(' ') });
  const names = await watchAll(service, port);
  await until(async () => (await service.call('GET', '/overview')).json['down'] === names.length, {
    timeoutMs: 120_000,
  });
  await until(() => eventsAt(receiver).length > 2 * HOSTILE_TEXTS.length, { timeoutMs: 120_000 });
  t.deepEqual(await openBoard(t, service, names), []);
  t.is(await service.program.stop(), 0);

  const lines = service.program.output().split('\n').slice(0, -1);
  const [logged, said] = [lines.filter((line) => line.startsWith('{')), lines.filter((line) => !line.startsWith('{'))];
  t.true(logged.length > 100);
  t.deepEqual(
    logged.filter((line) => !isOfOurs(line)),
    [],
  );
  t.deepEqual(
    lines.filter((line) => /\p{Cc}/u.test(line)),
    [],
    'a terminal would interpret control characters',
  );
  t.deepEqual(
    said.filter((line) => HOSTILE_TEXTS.some((text) => line.includes(text))),
    [],
  );
});

function isOfOurs(line: string): boolean {
  const { time, process, msg } = JSON.parse(line) as Record<string, unknown>;
  return typeof time === 'string' && process === 'spotcheck' && msg !== 'forged';
}
