import type { ChatMessage } from '../../core/alerts/chat/message.ts';
import type { EmailIdentity } from '../../core/alerts/email.ts';
import type { EmailAttachment, ReportTable } from '../../core/statistics/reports/message.ts';
import { renderEmail } from './message.ts';
import type { Email } from './sending.ts';

/** Additional parts of an email that is a report: the table within it, and the file. */
export type EmailReport = { table: ReportTable; attachment: EmailAttachment | null };

/** One message of a channel on its way to its address; `report` is null unless it is a report. */
export type EmailAlert = EmailIdentity & {
  account: string;
  to: string;
  message: ChatMessage;
  unsubscribeUrl: string;
  report?: EmailReport | null;
};

/** Builds the email of a channel's message, with the unsubscribe link below it. */
export function buildEmail({ message, unsubscribeUrl, report = null, ...addressed }: EmailAlert): Email {
  const footer = {
    text: 'You get this because this address was confirmed for alerts of a Spotcheck account.',
    link: { label: 'Unsubscribe', url: unsubscribeUrl },
  };
  const attachment = report?.attachment ?? null;
  return {
    ...renderEmail(message, footer, report?.table ?? null),
    ...addressed,
    unsubscribeUrl,
    ...(attachment !== null && { attachment }),
  };
}

/**
 * Builds the email that requests permission to send alerts to an address. It contains no text of the requesting
 * account, so that names cannot carry messages to strangers.
 */
export function buildConfirmation({
  link,
  ...addressed
}: Pick<Email, 'account' | 'to' | 'messageId'> & { link: string }): Email {
  const content = renderEmail(
    {
      tone: 'neutral',
      title: 'Confirm this address for Spotcheck alerts',
      text: 'An account wants to send its monitoring alerts to this address. They start once you confirm it.',
      facts: [{ label: 'Valid for', value: '24 hours' }],
      link: { label: 'Confirm this address', url: link },
    },
    { text: 'If you do not expect this, ignore it: nothing else will be sent to you.', link: null },
  );
  return { ...content, ...addressed, threadId: null, unsubscribeUrl: null };
}
