import { excerptResponse, NOTHING_MORE, type ChannelAttempt } from '../attempt-result.ts';

/**
 * Problems of the mail server itself, which its operator can fix. `unreachable`: no connection, no TLS, or no response
 * in time; `refused`: it rejects the installation's sign-in or sender; `busy`: it asks to retry later.
 */
export const MAIL_TROUBLES = ['unreachable', 'refused', 'busy'] as const;
export type MailTrouble = (typeof MAIL_TROUBLES)[number];

/** Outcome of an attempt, and the mail server's problem, if it reveals one; null otherwise. */
export type MailOutcome = { attempt: Omit<ChannelAttempt, 'durationMs'>; trouble: MailTrouble | null };

/** The error that nodemailer reports for a failed exchange. */
export type SmtpFailure = { code?: string; command?: string; responseCode?: number; response?: string };

/** Enhanced codes (RFC 3463) of a mailbox that does not exist, has moved or is disabled. */
const MAILBOX_IS_GONE = /\b5\.(?:1\.[0-36]|2\.1)\b/;

/** Enhanced codes of a mailbox that is full or refuses the size; it may accept the next message. */
const MESSAGE_IS_REFUSED = /\b5\.(?:2\.[2-4]|3\.4)\b/;

/** Enhanced codes (RFC 3463) of a server that is full itself, or cannot reach the next one. */
const SERVER_IS_BUSY = /\b4\.[34]\.\d+\b/;

/** Sent by a server that closes the connection; RFC 5321 allows it as a response to any command. */
const SERVICE_NOT_AVAILABLE = 421;

/** Refusals of the sender, by policy or sign-in, and not of the recipient. */
const SENDER_IS_REFUSED = /\b5\.(?:7|5|3|4)\.\d+\b|\brelay(?:ing)?\b|\bauthentication\b/i;

/** Codes of sign-in (RFC 4954), and those of a server that does not support the command or finds it out of order. */
const SIGN_IN_CODES: ReadonlySet<number> = new Set([530, 534, 535, 538, 500, 502, 503]);

/** Texts for a channel's owner, who need not learn which mail server it is. */
const TROUBLE_TEXTS = {
  unreachable: 'The mail server of this installation cannot be reached',
  refused: 'The mail server of this installation refuses its sender or sign-in: its operator can fix this',
  busy: 'The mail server of this installation asks to be tried later',
} as const satisfies Record<MailTrouble, string>;

/** Returns the outcome of a message that the server accepted. */
export function accepted(response: string): MailOutcome {
  const statusCode = Number(/^\d{3}/.exec(response)?.[0] ?? 250);
  return { attempt: { ...made(response), outcome: 'delivered', statusCode, error: null }, trouble: null };
}

/**
 * Interprets a failed exchange. It retries 4xx responses, failed connections, and problems that the operator can fix. A
 * final refusal of the recipient ends with a `channelProblem`; one of this message alone is `failed`. The server's
 * response is shown only if it is about the recipient or the message, and does not quote the `sender` address.
 */
export function readFailure(
  { code, command = '', responseCode, response = '' }: SmtpFailure,
  sender: string,
): MailOutcome {
  if (code === 'EAUTH' || code === 'ENOAUTH' || command.startsWith('AUTH')) return troubled('refused');
  // Nodemailer itself found the message too long, or an address that it cannot send to.
  if (responseCode === undefined && (code === 'EMESSAGE' || code === 'EENVELOPE')) return refusedMessage(null, '');
  if (responseCode === undefined) return troubled('unreachable');
  const isOfMessage = command.startsWith('RCPT') || command === 'DATA';
  if (responseCode < 500)
    return isOfMessage && responseCode !== SERVICE_NOT_AVAILABLE && !isOfServer(response, sender)
      ? retried(responseCode, response)
      : troubled('busy');
  if (MAILBOX_IS_GONE.test(response)) return gone(responseCode, response);
  if (MESSAGE_IS_REFUSED.test(response)) return refusedMessage(responseCode, response);
  if (!isOfMessage) return troubled('refused');
  if (SIGN_IN_CODES.has(responseCode)) return troubled('refused');
  if (command === 'DATA') return refusedMessage(responseCode, response);
  return SENDER_IS_REFUSED.test(response) ? troubled('refused') : gone(responseCode, response);
}

/** Reports whether a 4xx is about the server or the installation's sender, not about the recipient. */
function isOfServer(response: string, sender: string): boolean {
  return SERVER_IS_BUSY.test(response) || response.toLowerCase().includes(sender.toLowerCase());
}

function troubled(trouble: MailTrouble): MailOutcome {
  return { attempt: { ...made(''), outcome: 'retry', statusCode: null, error: TROUBLE_TEXTS[trouble] }, trouble };
}

function retried(statusCode: number, response: string): MailOutcome {
  const error = `The mail server responded with ${statusCode}`;
  return { attempt: { ...made(response), outcome: 'retry', statusCode, error }, trouble: null };
}

function refusedMessage(statusCode: number | null, response: string): MailOutcome {
  const error = `The mail server refused the message${statusCode === null ? '' : ` with ${statusCode}`}`;
  return { attempt: { ...made(response), outcome: 'failed', statusCode, error }, trouble: null };
}

function gone(statusCode: number, response: string): MailOutcome {
  const error = `The mail server refused the address with ${statusCode}`;
  return {
    attempt: {
      ...made(response),
      outcome: 'failed',
      statusCode,
      error,
      channelProblem: `${error}. Confirm the address again once it takes mail`,
    },
    trouble: null,
  };
}

function made(response: string): Pick<ChannelAttempt, 'response' | keyof typeof NOTHING_MORE> {
  return { ...NOTHING_MORE, response: response === '' ? null : excerptResponse(Buffer.from(response)) };
}
