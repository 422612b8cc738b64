import type { EmailAttachment } from '../../core/statistics/reports/message.ts';
import { NO_CONNECTION, notSent, strikeOut, type ChannelAttempt } from '../attempt-result.ts';
import type { EmailContent } from './message.ts';
import { accepted, readFailure, type MailOutcome, type MailTrouble, type SmtpFailure } from './outcome.ts';

/** The mail server of the installation, as its operator has set it up. */
export type MailSettings = Readonly<{
  host: string;
  port: number;
  /** TLS from the first byte (smtps://). */
  isSecure: boolean;
  /** Null = no sign-in. */
  signIn: Readonly<{ user: string; password: string }> | null;
  from: Readonly<{ name: string; address: string }>;
}>;

/** One email on its way to one address. */
export type Email = EmailContent & {
  /** Whose it is: accounts take turns at the mail server. */
  account: string;
  to: string;
  /** The part of the Message-ID before its `@`. */
  messageId: string;
  threadId: string | null;
  /** Null = the message belongs to no channel that could be ended. */
  unsubscribeUrl: string | null;
  attachment?: EmailAttachment;
};

/** What sends emails. */
export type MailSending = {
  send: (email: Email) => Promise<ChannelAttempt>;
  /** Puts off what waits for a connection, now and from now on; exchanges under way go on. */
  stop: () => void;
  /** Ends all connections at once. */
  close: () => void;
};

/** An exchange takes no longer, from the turn of its message to the last answer, in milliseconds. */
const DEADLINE_MS = 20_000;

/** A message waits no longer for a connection, in milliseconds. */
const LONGEST_WAIT_MS = 10_000;

/** One attempt takes no longer, the wait for its turn included, in milliseconds. */
export const MAIL_ATTEMPT_MS = LONGEST_WAIT_MS + DEADLINE_MS;

/** Connections to the mail server at a time, and messages on each before it is opened anew. */
const MAX_CONNECTIONS = 10;
const MESSAGES_PER_CONNECTION = 100;

/** A connection without a message is kept for so long, in milliseconds. */
const IDLE_MS = 30_000;

/**
 * Messages that wait for a connection at a time; what is beyond is put off. They wait for one server, and jobs of other
 * channels must find room beside them.
 */
const MAX_WAITING = 190;

/** The longest answer of the server, in bytes. */
const LONGEST_RESPONSE = 16_384;

/** Steps of an exchange take no longer, in milliseconds: a server that stalls is left before the deadline. */
const STEP_MS = { connectionTimeout: 8000, dnsTimeout: 5000, greetingTimeout: 8000, socketTimeout: 15_000 } as const;

export type MailSendingOptions = {
  settings: MailSettings;
  /** Learns what is wrong with the server itself; the text holds no secret. */
  onTrouble: (trouble: MailTrouble, reason: string) => void;
  /** The certificate authorities to trust instead of the system's, in PEM. */
  authorities?: string;
  deadlineMs?: number;
  longestWaitMs?: number;
};

/**
 * Opens the way to the mail server: up to ten connections that are kept for half a minute. The operator has chosen it,
 * so that the address guard has no say (D-30). With a sign-in TLS is required and its certificate checked; without one
 * it is used where the server offers it, whatever its certificate.
 */
export function openMailSending(options: MailSendingOptions): MailSending {
  const { settings, onTrouble, deadlineMs = DEADLINE_MS, longestWaitMs = LONGEST_WAIT_MS } = options;
  // Begun now, so that a package that is missing ends the start; only installations with a mail server hold it.
  const loading = loadTransport(options);
  const domain = settings.from.address.slice(settings.from.address.lastIndexOf('@') + 1);
  const attempt = async (email: Email): Promise<Omit<ChannelAttempt, 'durationMs'>> => {
    const { transport, MailComposer } = await loading;
    // Written before it is sent: nodemailer throws what goes wrong with a message on its way where nothing catches it.
    const raw = await new MailComposer(messageOf(email, settings.from, domain)).compile().build();
    const envelope = { from: settings.from.address, to: email.to };
    const made = await transport.sendMail({ envelope, raw, signal: AbortSignal.timeout(deadlineMs) }).then(
      ({ response }) => accepted(response),
      (error: SmtpFailure) => failed(error, settings, onTrouble),
    );
    const { response } = made.attempt;
    return { ...made.attempt, response: response && strikeSignIn(response, settings.signIn) };
  };
  const queue = new ConnectionQueue(longestWaitMs);
  return {
    async send(email) {
      const startedAtMs = performance.now();
      const sent = (await queue.take(email.account, () => attempt(email))) ?? notSent('retry', NO_CONNECTION);
      return { ...sent, durationMs: Math.round(performance.now() - startedAtMs) };
    },
    stop: () => queue.stop(),
    close() {
      queue.stop();
      void loading.then(({ transport }) => transport.close({ force: true }));
    },
  };
}

/** A message in hand and whose it is; `begin` is there while it waits, and sends it or turns it away. */
type QueuedMessage = { account: string; begin: ((isNext: boolean) => void) | null };

/**
 * Messages that wait for connections to the mail server. The account with the fewest messages under way is next, so
 * that those of one that has many wait for one another.
 */
class ConnectionQueue {
  readonly #longestWaitMs: number;
  readonly #messages = new Set<QueuedMessage>();
  #isStopped = false;

  constructor(longestWaitMs: number) {
    this.#longestWaitMs = longestWaitMs;
  }

  /** What comes of the work, once a connection is free for it; null where none was in time, or too many wait. */
  async take<Result>(account: string, work: () => Promise<Result>): Promise<Result | null> {
    const message: QueuedMessage = { account, begin: null };
    const isFree = this.#underWay().length < MAX_CONNECTIONS;
    this.#messages.add(message);
    try {
      return isFree || (!this.#isStopped && (await this.#wait(message))) ? await work() : null;
    } finally {
      this.#messages.delete(message);
      this.#beginNext();
    }
  }

  /** Turns away what waits, and what would have to. */
  stop(): void {
    this.#isStopped = true;
    for (const message of this.#waiting()) message.begin?.(false);
  }

  #underWay(): QueuedMessage[] {
    return [...this.#messages].filter(({ begin }) => begin === null);
  }

  #waiting(): QueuedMessage[] {
    return [...this.#messages].filter(({ begin }) => begin !== null);
  }

  async #wait(message: QueuedMessage): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    message.begin = (isNext) => {
      message.begin = null;
      // It is counted no more before another one begins.
      if (!isNext) this.#messages.delete(message);
      resolve(isNext);
    };
    const waiting = this.#waiting();
    if (waiting.length > MAX_WAITING) newestOfMost(waiting)?.begin?.(false);
    const timer = setTimeout(() => message.begin?.(false), this.#longestWaitMs);
    return await promise.finally(() => clearTimeout(timer));
  }

  #beginNext(): void {
    const underWay = this.#underWay();
    if (underWay.length >= MAX_CONNECTIONS) return;
    const countOf = ({ account }: QueuedMessage) => underWay.filter((other) => other.account === account).length;
    const [next] = this.#waiting().toSorted((a, b) => countOf(a) - countOf(b));
    next?.begin?.(true);
  }
}

/** The newest message of the account that has the most of them. */
function newestOfMost(messages: readonly QueuedMessage[]): QueuedMessage | undefined {
  const ofAccounts = [...Map.groupBy(messages.toReversed(), ({ account }) => account).values()];
  return ofAccounts.toSorted((a, b) => b.length - a.length)[0]?.[0];
}

async function loadTransport(options: MailSendingOptions) {
  const [{ createTransport }, { default: MailComposer }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/mail-composer'),
  ]);
  return { transport: createTransport(transportOptions(options)), MailComposer };
}

function failed(
  error: SmtpFailure,
  { signIn, from }: MailSettings,
  onTrouble: MailSendingOptions['onTrouble'],
): MailOutcome {
  const outcome = readFailure(error, from.address);
  const reason = error instanceof Error ? error.message : String(error);
  if (outcome.trouble !== null) onTrouble(outcome.trouble, strikeSignIn(reason, signIn));
  return outcome;
}

function transportOptions({ settings, authorities }: MailSendingOptions) {
  const { host, port, isSecure, signIn } = settings;
  return {
    pool: true as const,
    host,
    port,
    secure: isSecure,
    ...(signIn !== null && { auth: { user: signIn.user, pass: signIn.password } }),
    requireTLS: !isSecure && signIn !== null,
    maxConnections: MAX_CONNECTIONS,
    maxMessages: MESSAGES_PER_CONNECTION,
    maxRequeues: 1,
    idleTimeout: IDLE_MS,
    maxResponseSize: LONGEST_RESPONSE,
    ...STEP_MS,
    tls: {
      minVersion: 'TLSv1.2' as const,
      // Without a sign-in or smtps:// nothing was promised: encryption that can be broken into is better than none.
      rejectUnauthorized: isSecure || signIn !== null,
      ...(authorities !== undefined && { ca: authorities }),
    },
    logger: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function messageOf(email: Email, from: MailSettings['from'], domain: string) {
  const { to, subject, text, html, messageId, threadId, unsubscribeUrl, attachment } = email;
  const thread = threadId === null ? null : `<${threadId}@${domain}>`;
  return {
    from: { ...from },
    to: { name: '', address: to },
    subject,
    text,
    html,
    messageId: `<${messageId}@${domain}>`,
    ...(thread !== null && { inReplyTo: thread, references: thread }),
    ...(attachment !== undefined && { attachments: [attachment] }),
    headers: { 'Auto-Submitted': 'auto-generated', ...unsubscribeHeaders(unsubscribeUrl) },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** RFC 8058 asks for https; a reader's program makes nothing of the header without it. */
function unsubscribeHeaders(url: string | null): Record<string, string> {
  if (url === null) return {};
  const header = { 'List-Unsubscribe': `<${url}>` };
  return url.startsWith('https:') ? { ...header, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : header;
}

/** A server may quote what it was sent in its answer. */
function strikeSignIn(reason: string, signIn: MailSettings['signIn']): string {
  if (signIn === null) return reason;
  const { user, password } = signIn;
  const encoded = [password, `\0${user}\0${password}`].map((text) => Buffer.from(text).toString('base64'));
  return strikeOut(reason, [password, ...encoded]);
}
