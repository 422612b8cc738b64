import test, { type ExecutionContext } from 'ava';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import { buildEmail } from '../../../notifications/email/alert.ts';
import { openMailSending, type MailSendingOptions, type Email } from '../../../notifications/email/sending.ts';
import { TestAuthority } from '../../helpers/certificates.ts';
import { startMailServer, type MailServer, type MailServerOptions } from '../../helpers/smtp-server.ts';
import { until } from '../../helpers/until.ts';

const MESSAGE: ChatMessage = {
  tone: 'bad',
  title: 'Down: Shop & café',
  text: 'Connection refused',
  facts: [{ label: 'Failing from', value: 'hanoi' }],
  link: { label: 'View monitor', url: 'https://spotcheck.example/monitors/mon_1?a=1&b=2' },
};
const UNSUBSCRIBE = 'https://spotcheck.example/connect/email/unsubscribe?token=v1.k.abc';
const SIGN_IN = { user: 'spotcheck', password: 'p4ss-of-the-mail-server' };

let authority: TestAuthority;

test.before(async () => {
  authority = await TestAuthority.create();
});

test('a message has text and HTML, the thread of its incident, and a link to unsubscribe', async (t) => {
  const { server, send } = await prepare(t);
  t.like(await send(email({ threadId: 'inc_1' })), { outcome: 'delivered', statusCode: 250, error: null });
  const [mail] = server.taken;
  t.deepEqual(mail?.envelope, { from: 'alerts@spotcheck.example', to: ['oncall@customer.example'] });
  t.like(mail?.headers, {
    from: 'Spotcheck <alerts@spotcheck.example>',
    to: 'oncall@customer.example',
    subject: 'Down: Shop & café',
    'message-id': '<dlv_1@spotcheck.example>',
    references: '<inc_1@spotcheck.example>',
    'in-reply-to': '<inc_1@spotcheck.example>',
    'auto-submitted': 'auto-generated',
    'list-unsubscribe': `<${UNSUBSCRIBE}>`,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
  });
  t.false('x-mailer' in (mail?.headers ?? {}));
  t.regex(mail?.text ?? '', /^Down: Shop & café\r?\nConnection refused\r?\n\r?\nFailing from: hanoi\r?\n/);
  t.true(mail?.text.includes(`Unsubscribe: ${UNSUBSCRIBE}`));
  t.true(mail?.html.includes('<h1') && mail.html.includes('Down: Shop &amp; café</h1>'));
  t.true(mail?.html.includes('href="https://spotcheck.example/monitors/mon_1?a=1&amp;b=2"'));
});

test('without an incident there are no thread headers, and without https no one-click header', async (t) => {
  const { server, send } = await prepare(t);
  await send(email({ unsubscribeUrl: 'http://localhost:3000/connect/email/unsubscribe?token=x' }));
  const headers = server.taken[0]?.headers ?? {};
  t.deepEqual(
    ['references', 'in-reply-to', 'list-unsubscribe-post'].filter((name) => name in headers),
    [],
  );
  t.is(headers['list-unsubscribe'], '<http://localhost:3000/connect/email/unsubscribe?token=x>');
});

test('hostile names add no header, recipient or markup, and nothing is loaded from other hosts', async (t) => {
  const { server, send } = await prepare(t);
  const name = 'Shop\r\nBcc: victim@elsewhere.example\r\n\r\n<img src="https://evil.example/p.png"><script>\u202E';
  await send(
    email({}, { ...MESSAGE, title: `Down: ${name}`, text: name, facts: [{ label: name, value: `${name}" onload="` }] }),
  );
  const [mail] = server.taken;
  t.deepEqual(mail?.envelope.to, ['oncall@customer.example']);
  t.false('bcc' in (mail?.headers ?? {}));
  t.regex(mail?.headers['subject'] ?? '', /^Down: Shop Bcc: victim@elsewhere\.example <img/);
  const tags = [...(mail?.html ?? '').matchAll(/<(\w+)([^>]*)>/g)];
  const known = ['html', 'head', 'meta', 'title', 'body', 'h1', 'p', 'table', 'tr', 'td', 'b', 'a'];
  t.deepEqual(new Set(tags.map(([, tag]) => tag)), new Set(known));
  const attributes = tags.flatMap(([, , text = '']) =>
    [...text.matchAll(/([\w-]+)="/g)].map(([, attribute]) => attribute),
  );
  t.deepEqual(new Set(attributes), new Set(['lang', 'charset', 'style', 'role', 'href']));
  const urls = [...(mail?.html ?? '').matchAll(/href="([^"]*)"/g)].map(([, url = '']) => new URL(url).hostname);
  t.deepEqual(urls, ['spotcheck.example', 'spotcheck.example']);
  t.notRegex(mail?.html ?? '', /url\(|\u202E/);
});

test('a rejected recipient is a channel problem, a full mailbox or a rejected message is not', async (t) => {
  const { server, send } = await prepare(t);
  const answers = [
    [{ to: { code: 550, text: '5.1.1 No such user' } }, true],
    [{ to: { code: 550, text: 'No such user here' } }, true],
    [{ to: { code: 552, text: '5.2.2 Mailbox full' } }, false],
    [{ data: { code: 554, text: '5.6.0 Not liked' } }, false],
    [{ data: { code: 550, text: '5.1.1 No such user after all' } }, true],
  ] as const;
  for (const [refusal, isLost] of answers) {
    Object.assign(server.refusals, { from: null, to: null, data: null, ...refusal });
    const attempt = await send(email());
    const { code, text } = Object.values(refusal)[0] ?? { code: 0, text: '' };
    t.like(attempt, { outcome: 'failed', statusCode: code });
    t.true(attempt.response?.includes(text));
    t.is(attempt.channelProblem !== null, isLost, text);
  }
  t.deepEqual(server.taken, []);
});

test('errors that the operator can fix are retried, and the server response is hidden from customers', async (t) => {
  const { server, send, troubles } = await prepare(t);
  const answers = [
    [{ from: { code: 550, text: '5.7.1 Sender is not allowed' } }, 'refused'],
    [{ from: { code: 530, text: '5.7.0 Authentication required' } }, 'refused'],
    [{ to: { code: 554, text: '5.7.1 Relay access denied' } }, 'refused'],
    [{ to: { code: 550, text: 'Relaying denied' } }, 'refused'],
    [{ from: { code: 451, text: '4.7.1 Sender alerts@operator.example is rated' } }, 'busy'],
    [{ to: { code: 452, text: '4.3.1 Out of room' } }, 'busy'],
    [{ data: { code: 452, text: '4.3.1 Out of room' } }, 'busy'],
    [{ to: { code: 421, text: '4.7.0 Too many messages from this host' } }, 'busy'],
    [{ data: { code: 421, text: 'Closing the connection' } }, 'busy'],
    [{ to: { code: 450, text: '4.4.1 The next server does not answer' } }, 'busy'],
    [{ to: { code: 450, text: '4.1.8 <Alerts@spotcheck.example>: Sender domain not found' } }, 'busy'],
    [{ connect: { code: 421, text: 'Too many connections' } }, 'busy'],
    [{ connect: { code: 554, text: 'Go away' } }, 'refused'],
  ] as const;
  for (const [refusal, trouble] of answers) {
    Object.assign(server.refusals, { connect: null, from: null, to: null, data: null, ...refusal });
    if ('connect' in refusal) send.reopen();
    const attempt = await send(email());
    t.like(attempt, { outcome: 'retry', channelProblem: null }, JSON.stringify(refusal));
    t.is(troubles.at(-1)?.[0], trouble, JSON.stringify(refusal));
    t.is(attempt.response, null, JSON.stringify(refusal));
  }
});

test('temporary rejections of a recipient are retried with their response, and report no server trouble', async (t) => {
  const { server, send, troubles } = await prepare(t);
  for (const refusal of [
    { to: { code: 451, text: '4.7.1 Greylisted' } },
    { to: { code: 450, text: 'Try again' } },
    { to: { code: 452, text: '4.2.2 Mailbox full' } },
    { data: { code: 451, text: '4.7.0 Scanned later' } },
  ]) {
    Object.assign(server.refusals, { to: null, data: null, ...refusal });
    const { code, text } = Object.values(refusal)[0] ?? { code: 0, text: '' };
    const attempt = await send(email());
    t.like(attempt, { outcome: 'retry', statusCode: code, channelProblem: null });
    t.true(attempt.response?.includes(text));
  }
  t.deepEqual(troubles, []);
});

test('a server that is down, or slower than the deadline, is retried', async (t) => {
  const server = await startMailServer(t);
  const away = open(t, { ...server.settings, port: 1 });
  t.like(await away.send(email()), { outcome: 'retry', statusCode: null });
  t.is(away.troubles.at(-1)?.[0], 'unreachable');

  const held = Promise.withResolvers<void>();
  server.hold = held.promise;
  const slow = open(t, server.settings, { deadlineMs: 300 });
  const attempt = await slow.send(email());
  t.like(attempt, { outcome: 'retry', error: 'The mail server of this installation cannot be reached' });
  held.resolve();
});

const NO_CONNECTION = { outcome: 'retry', statusCode: null, error: 'Too many messages wait for the mail server' };

test.serial('beyond 200 messages the newest one of the account with the most is deferred', async (t) => {
  const { server, release, ofAccount, troubles } = await prepareHeld(t, { longestWaitMs: 600_000 });
  const sent = Array.from({ length: 199 }, () => ofAccount('ten_1'));
  const last = ofAccount('ten_1');
  sent.push(ofAccount('ten_2'));
  t.like(await last, NO_CONNECTION);
  t.like(await ofAccount('ten_1'), NO_CONNECTION);
  await until(() => server.connections() === 10);
  release();
  t.true((await Promise.all(sent)).every(({ outcome }) => outcome === 'delivered'));
  t.is(server.taken.length, 200);
  t.true(server.connections() <= 30, `${server.connections()} connections`);
  t.deepEqual(troubles, []);
});

test.serial('an account with few messages does not wait for all messages of another', async (t) => {
  const { server, release, ofAccount } = await prepareHeld(t, { longestWaitMs: 600_000 });
  const sent = Array.from({ length: 150 }, () => ofAccount('ten_1'));
  const other = ofAccount('ten_2').then(() => server.taken.length);
  release();
  t.true((await other) < 60, `after ${await other} messages`);
  await Promise.all(sent);
});

test.serial('a message that gets no connection in time is deferred, and reports no server trouble', async (t) => {
  const { server, release, ofAccount, troubles } = await prepareHeld(t, { longestWaitMs: 100 });
  const sent = Array.from({ length: 10 }, () => ofAccount('ten_1'));
  t.like(await ofAccount('ten_2'), NO_CONNECTION);
  t.deepEqual(troubles, []);
  release();
  t.deepEqual(
    (await Promise.all(sent)).filter(({ outcome }) => outcome !== 'delivered'),
    [],
  );
  t.like(await ofAccount('ten_2'), { outcome: 'delivered' });
  t.is(server.taken.length, 11);
});

test.serial('the deadline of a message starts when it gets a connection', async (t) => {
  const { server, release, ofAccount, troubles } = await prepareHeld(t, { longestWaitMs: 600_000, deadlineMs: 10_000 });
  const hanging = Array.from({ length: 10 }, () => ofAccount('ten_1'));
  const waiting = ofAccount('ten_2');
  t.true((await Promise.all(hanging)).every(({ error }) => error?.endsWith('cannot be reached')));
  release();
  t.like(await waiting, { outcome: 'delivered' });
  t.deepEqual([server.taken.length > 0, troubles.length], [true, 10]);
});

/** Starts a server that accepts no message until it is released. */
async function prepareHeld(t: ExecutionContext, options: Partial<MailSendingOptions>) {
  const server = await startMailServer(t);
  const held = Promise.withResolvers<void>();
  server.hold = held.promise;
  const { send, troubles } = open(t, server.settings, options);
  return {
    server,
    troubles,
    ofAccount: (account: string) => send(email({ account })),
    release() {
      server.hold = null;
      held.resolve();
    },
  };
}

test('credentials are sent only over TLS, to a server with a trusted certificate', async (t) => {
  const keys = await authority.issue({ hosts: ['localhost'] });
  for (const isSecure of [true, false]) {
    const { server, send } = await prepare(t, { keys, isSecure, signIn: SIGN_IN }, { authorities: authority.pem });
    t.like(await send(email()), { outcome: 'delivered' });
    t.true(server.taken[0]?.isEncrypted);
    const stranger = open(t, server.settings);
    t.like(await stranger.send(email()), { outcome: 'retry' });
    t.is(stranger.troubles.at(-1)?.[0], 'unreachable');
  }
  const plain = await prepare(t, { signIn: SIGN_IN });
  t.like(await plain.send(email()), { outcome: 'retry' });
  t.deepEqual(plain.server.taken, []);
});

test('without credentials TLS is used if offered, with any certificate', async (t) => {
  const { server, send } = await prepare(t, { keys: await authority.issue({ hosts: ['elsewhere.example'] }) });
  t.like(await send(email()), { outcome: 'delivered' });
  t.true(server.taken[0]?.isEncrypted);
});

test('a wrong password is retried and reported to the operator, and appears in no error or log line', async (t) => {
  const keys = await authority.issue({ hosts: ['localhost'] });
  const server = await startMailServer(t, { keys, signIn: SIGN_IN });
  const wrong = { ...SIGN_IN, password: 'wr0ng-p4ss' };
  const { send, troubles } = open(t, { ...server.settings, signIn: wrong }, { authorities: authority.pem });
  const attempt = await send(email());
  t.like(attempt, {
    outcome: 'retry',
    channelProblem: null,
    error: 'The mail server of this installation refuses its sender or sign-in: its operator can fix this',
  });
  t.is(troubles.at(-1)?.[0], 'refused');
  t.regex(troubles.at(-1)?.[1] ?? '', /535/);
  t.notRegex(JSON.stringify([attempt, troubles]), /wr0ng/);
});

function email(overrides: Partial<Email> = {}, message = MESSAGE): Email {
  const built = buildEmail({
    account: 'ten_1',
    to: 'oncall@customer.example',
    message,
    messageId: 'dlv_1',
    threadId: null,
    unsubscribeUrl: UNSUBSCRIBE,
  });
  return { ...built, ...overrides };
}

type Troubles = (readonly [string, string])[];

async function prepare(
  t: ExecutionContext,
  options: MailServerOptions = {},
  sendingOptions: Partial<MailSendingOptions> = {},
) {
  const server = await startMailServer(t, options);
  return { server, ...open(t, server.settings, sendingOptions) };
}

function open(t: ExecutionContext, settings: MailServer['settings'], options: Partial<MailSendingOptions> = {}) {
  const troubles: Troubles = [];
  const start = () => openMailSending({ settings, onTrouble: (...trouble) => void troubles.push(trouble), ...options });
  let sending = start();
  t.teardown(() => sending.close());
  const reopen = () => {
    sending.close();
    sending = start();
  };
  return { send: Object.assign((one: Email) => sending.send(one), { reopen }), troubles };
}
