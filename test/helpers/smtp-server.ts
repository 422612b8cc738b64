import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { MailSettings } from '../../notifications/email/sending.ts';
import type { KeyPair } from './certificates.ts';
import type { Harness } from './harness.ts';

/** A part of an email: its type without parameters, its file name, null if it has none, and its decoded content. */
export type MailPart = { type: string; name: string | null; content: string };

/** An accepted email, as a mail program parses it. */
export type ReceivedMail = {
  envelope: { from: string; to: string[] };
  isEncrypted: boolean;
  /** Headers by lower-case name, unfolded and decoded. */
  headers: Record<string, string>;
  parts: MailPart[];
  text: string;
  html: string;
  raw: string;
};

/** Refusal of a command: a code and a text; with `once`, only the next command is refused. */
export type Refusal = { code: number; text: string; once?: true };

/** An SMTP server for tests, which set its refusals while it runs. */
export type MailServer = {
  settings: MailSettings;
  /** Accepted emails, in order. */
  taken: ReceivedMail[];
  /** Returns the number of connections since the start. */
  connections: () => number;
  /** Refusals of a connection, a sender, a recipient or a message; null = accepted. */
  refusals: { connect: Refusal | null; from: Refusal | null; to: Refusal | null; data: Refusal | null };
  /** Mailboxes that do not exist, regardless of other settings. */
  gone: Set<string>;
  /** While set, messages are accepted only once it resolves. */
  hold: Promise<void> | null;
  /** Number of received messages that are not accepted yet. */
  held: number;
  mailsTo: (address: string) => ReceivedMail[];
};

export type MailServerOptions = {
  /** Key and certificate of the server: it then offers STARTTLS, or TLS from the first byte if `isSecure`. */
  keys?: KeyPair;
  isSecure?: boolean;
  /** Credentials that the server requires; null = none. */
  signIn?: { user: string; password: string } | null;
};

const NO_SUCH_USER: Refusal = { code: 550, text: '5.1.1 No such user' };

/** Starts the server on a free port of 127.0.0.1; it stops with the test. */
export async function startMailServer(t: Harness, options: MailServerOptions = {}): Promise<MailServer> {
  const { keys, isSecure = false, signIn = null } = options;
  const taken: ReceivedMail[] = [];
  let connections = 0;
  const refusals: MailServer['refusals'] = { connect: null, from: null, to: null, data: null };
  const gone = new Set<string>();
  const answer = (refusal: Refusal | null): Error | null =>
    refusal && Object.assign(new Error(refusal.text), { responseCode: refusal.code });
  const refuse = (command: keyof typeof refusals): Error | null => {
    const refusal = refusals[command];
    if (refusal?.once === true) refusals[command] = null;
    return answer(refusal);
  };
  const handlers: SMTPServerOptions = {
    ...keys,
    secure: isSecure,
    authOptional: signIn === null,
    allowInsecureAuth: true,
    disabledCommands: [...(signIn === null ? ['AUTH'] : []), ...(keys === undefined ? ['STARTTLS'] : [])],
    closeTimeout: 100,
    onConnect(_session, done) {
      connections += 1;
      done(refuse('connect'));
    },
    onAuth({ username, password }, _session, done) {
      if (username === signIn?.user && password === signIn?.password) done(null, { user: username });
      else done(Object.assign(new Error('5.7.8 Authentication failed'), { responseCode: 535 }));
    },
    onMailFrom: (_address, _session, done) => done(refuse('from')),
    onRcptTo: ({ address }, _session, done) => done(gone.has(address) ? answer(NO_SUCH_USER) : refuse('to')),
    onData(stream, { envelope, secure }, done) {
      const take = async () => {
        // A client that disconnects gets no response.
        const bytes = await buffer(stream).catch(() => null);
        if (bytes === null) return;
        server.held += 1;
        await server.hold;
        server.held -= 1;
        const refusal = refuse('data');
        if (refusal !== null) return done(refusal);
        taken.push({
          ...readMail(bytes.toString('latin1')),
          envelope: {
            from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
            to: envelope.rcptTo.map(({ address }) => address),
          },
          isEncrypted: secure,
        });
        return done(null);
      };
      void take();
    },
  };
  const smtp = new SMTPServer(handlers);
  // Clients may disconnect early or distrust the certificate.
  smtp.on('error', () => undefined);
  const listener = smtp.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => new Promise<void>((resolve) => smtp.close(() => resolve())));
  const server: MailServer = {
    settings: {
      host: 'localhost',
      port: (listener.address() as AddressInfo).port,
      isSecure,
      signIn,
      // The configuration is frozen, too.
      from: Object.freeze({ name: 'Spotcheck', address: 'alerts@spotcheck.example' }),
    },
    taken,
    connections: () => connections,
    refusals,
    gone,
    hold: null,
    held: 0,
    mailsTo: (address) => taken.filter(({ envelope }) => envelope.to.includes(address)),
  };
  return server;
}

function readMail(raw: string): Omit<ReceivedMail, 'envelope' | 'isEncrypted'> {
  const headers = headersOf(raw);
  const parts = partsOf(raw);
  const contentOf = (type: string) => parts.find((part) => part.type === type)?.content ?? '';
  return { headers, parts, text: contentOf('text/plain'), html: contentOf('text/html'), raw };
}

function headersOf(entity: string): Record<string, string> {
  const [head = ''] = entity.split('\r\n\r\n', 1);
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())];
    }),
  );
}

function partsOf(entity: string): MailPart[] {
  const headers = headersOf(entity);
  const type = headers['content-type'] ?? 'text/plain';
  const body = entity.slice(entity.indexOf('\r\n\r\n') + 4);
  const boundary = /boundary="?([^";]+)"?/.exec(type)?.[1];
  if (boundary !== undefined)
    return body
      .split(`--${boundary}`)
      .slice(1, -1)
      .flatMap((part) => partsOf(part.replace(/^\r\n/, '').replace(/\r\n$/, '')));
  const name = /filename="?([^";]+)"?/.exec(headers['content-disposition'] ?? '')?.[1] ?? null;
  const encoding = headers['content-transfer-encoding'] ?? '7bit';
  return [{ type: type.split(';', 1)[0] ?? '', name, content: decode(body, encoding) }];
}

function decode(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1').toString();
  return fromHex(body.replaceAll('=\r\n', ''), /=([0-9A-F]{2})/g);
}

function decodeWords(text: string): string {
  return text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_word, coding: string, encoded: string) =>
      coding.toUpperCase() === 'B'
        ? Buffer.from(encoded, 'base64').toString()
        : fromHex(encoded.replaceAll('_', ' '), /=([0-9A-F]{2})/g),
    );
}

function fromHex(text: string, pattern: RegExp): string {
  const bytes = text.replaceAll(pattern, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
