import type { EmailAttachment } from '../../core/statistics/reports/message.ts';
import { currentAccount } from '../../net/body-budget.ts';
import { NOTHING_MORE, strikeOut, type ChannelAttempt } from '../attempt-result.ts';
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
  to: string;
  /** The part of the Message-ID before its `@`. */
  messageId: string;
  threadId: string | null;
  /** Null = the message belongs to no channel that could be ended. */
  unsubscribeUrl: string | null;
  attachment?: EmailAttachment;
};

/** What sends emails. `close` ends all connections at once. */
export type MailSending = { send: (email: Email) => Promise<ChannelAttempt>; close: () => void };

/** One attempt takes no longer, from its turn at the server to the last answer, in milliseconds. */
export const MAIL_DEADLINE_MS = 20_000;

/** Connections to the mail server at a time, and messages on each before it is opened anew. */
const MAX_CONNECTIONS = 10;
const MESSAGES_PER_CONNECTION = 100;

/** A connection without a message is kept for so long, in milliseconds. */
const IDLE_MS = 30_000;

/**
 * Messages in hand at a time; what comes beyond is retried by the timetable. They wait for one server, and jobs of
 * other channels must find room beside them.
 */
const MAX_IN_HAND = 200;

/** Those of one account: a mail server that is slow leaves half of them to others. */
const MAX_OF_ACCOUNT = MAX_IN_HAND / 2;

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
};

/**
 * Opens the way to the mail server: up to ten connections that are kept for half a minute. The operator has chosen it,
 * so that the address guard has no say (D-30). With a sign-in TLS is required and its certificate checked; without one
 * it is used where the server offers it, whatever its certificate.
 */
export function openMailSending(options: MailSendingOptions): MailSending {
  const { settings, onTrouble, deadlineMs = MAIL_DEADLINE_MS } = options;
  // Begun now, so that a package that is missing ends the start; only installations with a mail server hold it.
  const loading = loadTransport(options);
  const domain = settings.from.address.slice(settings.from.address.lastIndexOf('@') + 1);
  const attempt = async (email: Email): Promise<ChannelAttempt> => {
    const { transport, MailComposer } = await loading;
    const startedAtMs = performance.now();
    // Written before it is sent: nodemailer throws what goes wrong with a message on its way where nothing catches it.
    const raw = await new MailComposer(messageOf(email, settings.from, domain)).compile().build();
    const envelope = { from: settings.from.address, to: email.to };
    const made = await transport.sendMail({ envelope, raw, signal: AbortSignal.timeout(deadlineMs) }).then(
      ({ response }) => accepted(response),
      (error: SmtpFailure) => failed(error, settings, onTrouble),
    );
    const { response } = made.attempt;
    return {
      ...made.attempt,
      response: response && strikeSignIn(response, settings.signIn),
      durationMs: Math.round(performance.now() - startedAtMs),
    };
  };
  const inHand = new Map<string, number>();
  return {
    async send(email) {
      const account = currentAccount() ?? '';
      const ofAccount = inHand.get(account) ?? 0;
      const all = [...inHand.values()].reduce((sum, count) => sum + count, 0);
      if (all >= MAX_IN_HAND || ofAccount >= MAX_OF_ACCOUNT)
        return unsent('Too many messages wait for the mail server');
      inHand.set(account, ofAccount + 1);
      return await attempt(email).finally(() => {
        const left = (inHand.get(account) ?? 1) - 1;
        if (left > 0) inHand.set(account, left);
        else inHand.delete(account);
      });
    },
    close: () => void loading.then(({ transport }) => transport.close({ force: true })),
  };
}

async function loadTransport(options: MailSendingOptions) {
  const [{ createTransport }, { default: MailComposer }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/mail-composer'),
  ]);
  return { transport: createTransport(transportOptions(options)), MailComposer };
}

function failed(error: SmtpFailure, { signIn }: MailSettings, onTrouble: MailSendingOptions['onTrouble']): MailOutcome {
  const outcome = readFailure(error);
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

function unsent(error: string): ChannelAttempt {
  return { ...NOTHING_MORE, outcome: 'retry', statusCode: null, durationMs: 0, error, response: null };
}
