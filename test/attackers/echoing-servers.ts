import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { TestAuthority } from '../helpers/certificates.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';
import { startSlackServer, type SlackServer } from '../helpers/slack-server.ts';
import { startMailServer, type MailServer } from '../helpers/smtp-server.ts';
import { startTelegramServer, type TelegramServer } from '../helpers/telegram-server.ts';

/**
 * All servers outside of the service. They echo everything that they receive, because that is how secrets get into logs
 * and tables.
 */
export type EchoingServers = {
  /**
   * An http site that responds with the request that it received; `/redirect` redirects to another host, with the
   * secrets in the URL.
   */
  site: { url: (path: string) => string; status: number };
  /** URL of the same site with an untrusted certificate. */
  untrustedUrl: string;
  /** A tcp peer that echoes every byte. */
  tcpTarget: string;
  /** A webhook receiver that responds with `status`, or not at all while `isHeld`. `events` lists those received. */
  receiver: { url: string; status: number; isHeld: boolean; events: string[] };
  caFile: string;
  slack: SlackServer;
  /** A mail server that requires a sign-in, and quotes the password when it refuses a message. */
  mail: MailServer;
  telegram: TelegramServer;
  /** All received headers and bodies, except those at Slack and Telegram. */
  arrived: string[];
};

/** Starts the servers; they stop with the test. */
export async function startEchoingServers(t: ExecutionContext): Promise<EchoingServers> {
  const authority = await TestAuthority.create();
  const directory = await mkdtemp(join(tmpdir(), 'spotcheck-ca-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, authority.pem);

  const arrived: string[] = [];
  const site = { url: (path: string) => `http://127.0.0.1:${plain.port}${path}`, status: 200 };
  const receiver = { url: '', status: 200, isHeld: false, events: [] as string[] };
  const take = async (request: IncomingMessage): Promise<string> => {
    const body = await text(request).catch(() => 'broken off');
    const echo = `${request.method} ${request.url}\n${JSON.stringify(request.headers)}\n${body}`;
    arrived.push(echo);
    return echo;
  };
  const answerAsSite: RequestListener = async (request, response) => {
    const echo = await take(request);
    const secrets = encodeURIComponent(`${request.headers['x-key']} ${String(request.headers.authorization)}`);
    if (request.url?.startsWith('/redirect'))
      return void response
        .writeHead(302, { Location: `http://localhost:${plain.port}/landed?${secrets}`, 'X-Echo': secrets })
        .end(echo);
    for (const name of ['X-Echo', 'Server', 'Set-Cookie']) response.setHeader(name, `a=${secrets}`);
    response.writeHead(site.status, { 'Content-Type': 'text/html' }).end(echo);
  };
  const answerAsReceiver: RequestListener = async (request, response) => {
    const echo = await take(request);
    receiver.events.push(String(request.headers['x-service-event']));
    if (!receiver.isHeld) response.writeHead(receiver.status, { 'X-Echo': encodeURI(request.url ?? '') }).end(echo);
  };
  const stranger = await TestAuthority.create();
  const password = `cnry-mail-password-${randomBytes(9).toString('hex')}`;
  const [plain, untrusted, hooks, raw, slack, telegram, mail] = await Promise.all([
    startHttpServer(t, answerAsSite),
    startHttpServer(t, answerAsSite, await stranger.issue({ hosts: ['127.0.0.1'] })),
    startHttpServer(t, answerAsReceiver, await authority.issue({ hosts: ['127.0.0.1'] })),
    startRawServer(
      t,
      (socket: Socket) => void socket.on('data', (chunk) => socket.write(`you said ${chunk.toString()}`)),
    ),
    startSlackServer(t),
    startTelegramServer(t),
    startMailServer(t, {
      keys: await authority.issue({ hosts: ['localhost'] }),
      signIn: { user: 'spotcheck', password },
    }),
  ]);
  receiver.url = `https://127.0.0.1:${hooks.port}`;
  return {
    site,
    untrustedUrl: `https://127.0.0.1:${untrusted.port}/`,
    tcpTarget: `127.0.0.1:${raw.port}`,
    receiver,
    caFile,
    slack,
    mail,
    telegram,
    arrived,
  };
}
