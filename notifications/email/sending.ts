import type { EmailAttachment } from '../../core/statistics/reports/message.ts';
import { NO_CONNECTION, strikeOut, unsuccessful, type ChannelAttempt } from '../attempt-result.ts';
import type { EmailContent } from './message.ts';
import { accepted, readFailure, type MailOutcome, type MailTrouble, type SmtpFailure } from './outcome.ts';

/** The installation's mail server, as its operator configured it. */
export type MailSettings = Readonly<{
  host: string;
  port: number;
  /** TLS from the first byte (smtps://). */
  isSecure: boolean;
  /** Null for no sign-in. */
  signIn: Readonly<{ user: string; password: string }> | null;
  from: Readonly<{ name: string; address: string }>;
}>;

/** One email on its way to one address. */
export type Email = EmailContent & {
  /** The account that owns it: accounts take turns at the mail server. */
  account: string;
  to: string;
  /** The part of the Message-ID before its `@`. */
  messageId: string;
  threadId: string | null;
  /** Null if the message belongs to no channel that could be ended. */
  unsubscribeUrl: string | null;
  attachment?: EmailAttachment;
};

/** Sends emails. */
export type MailSending = {
  send: (email: Email) => Promise<ChannelAttempt>;
  /** Postpones messages that wait for a connection, now and from now on; running exchanges continue. */
  stop: () => void;
  /** Closes all connections at once. */
  close: () => void;
};

/** Timeout of an exchange, from the start of its message to the last response, in milliseconds. */
const DEADLINE_MS = 20_000;

/** Maximum wait for a connection, in milliseconds. */
const LONGEST_WAIT_MS = 10_000;

/** Maximum duration of an attempt, including the wait for a connection, in milliseconds. */
export const MAIL_ATTEMPT_MS = LONGEST_WAIT_MS + DEADLINE_MS;

/** Maximum simultaneous connections to the mail server, and messages on each before it is reopened. */
const MAX_CONNECTIONS = 10;
const MESSAGES_PER_CONNECTION = 100;

/** How long a connection without a message is kept, in milliseconds. */
const IDLE_MS = 30_000;

/**
 * Maximum messages that wait for a connection; further ones are postponed. They all wait for one server, and jobs of
 * other channels must find room beside them.
 */
const MAX_WAITING = 190;

/** Maximum length of a server response, in bytes. */
const LONGEST_RESPONSE = 16_384;

/** Timeouts of an exchange's steps, in milliseconds: a server that stalls is dropped before the deadline. */
const STEP_MS = { connectionTimeout: 8000, dnsTimeout: 5000, greetingTimeout: 8000, socketTimeout: 15_000 } as const;

export type MailSendingOptions = {
  settings: MailSettings;
  /** Called with a problem of the server itself; the text contains no secret. */
  onTrouble: (trouble: MailTrouble, reason: string) => void;
  /** The certificate authorities to trust instead of the system's, in PEM. */
  authorities?: string;
  deadlineMs?: number;
  longestWaitMs?: number;
};

/**
 * Opens the mail transport: up to ten connections that are kept for half a minute. The address guard does not apply,
 * because the operator chose the server (D-30). With a sign-in, TLS is required and its certificate verified; without
 * one, TLS is used if the server offers it, whatever its certificate.
 */
export function openMailSending(options: MailSendingOptions): MailSending {
  const { settings, onTrouble, deadlineMs = DEADLINE_MS, longestWaitMs = LONGEST_WAIT_MS } = options;
  // Loading starts now, so that a missing package fails startup; only installations with a mail server load it.
  const loading = loadTransport(options);
  const domain = settings.from.address.slice(settings.from.address.lastIndexOf('@') + 1);
  const attempt = async (email: Email): Promise<Omit<ChannelAttempt, 'durationMs'>> => {
    const { transport, MailComposer } = await loading;
    // The message is composed before sending: nodemailer throws composing errors during sending where no caller catches
    // them.
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
      const sent = (await queue.take(email.account, () => attempt(email))) ?? unsuccessful('retry', NO_CONNECTION);
      return { ...sent, durationMs: Math.round(performance.now() - startedAtMs) };
    },
    stop: () => queue.stop(),
    close() {
      queue.stop();
      void loading.then(({ transport }) => transport.close({ force: true }));
    },
  };
}

/** A current message and its account; `begin` is set while it waits, and sends it or turns it away. */
type QueuedMessage = { account: string; begin: ((isNext: boolean) => void) | null };

/**
 * Queue of messages for connections to the mail server. The account with the fewest running messages is next, so that
 * messages of an account with many wait for one another.
 */
class ConnectionQueue {
  readonly #longestWaitMs: number;
  readonly #messages = new Set<QueuedMessage>();
  #isStopped = false;

  constructor(longestWaitMs: number) {
    this.#longestWaitMs = longestWaitMs;
  }

  /** Runs the work once a connection is free; returns null if none was in time, or too many messages wait. */
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

  /** Turns away waiting messages, and those that would have to wait. */
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
      // A rejected message stops counting before another one begins.
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

/** Returns the newest message of the account that has the most. */
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
      // Without a sign-in or smtps:// nothing was promised: encryption without a verified certificate is better than
      // none.
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

/**
 * Builds the headers for unsubscribing. RFC 8058 requires https; mail clients ignore the one-click header without it.
 */
function unsubscribeHeaders(url: string | null): Record<string, string> {
  if (url === null) return {};
  const header = { 'List-Unsubscribe': `<${url}>` };
  return url.startsWith('https:') ? { ...header, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : header;
}

/** Strikes out the sign-in, which a server may quote in its response. */
function strikeSignIn(reason: string, signIn: MailSettings['signIn']): string {
  if (signIn === null) return reason;
  const { user, password } = signIn;
  const encoded = [password, `\0${user}\0${password}`].map((text) => Buffer.from(text).toString('base64'));
  return strikeOut(reason, [password, ...encoded]);
}
