import type { ChatMessage } from '../../core/alerts/chat/message.ts';
import type { EmailIdentity } from '../../core/alerts/email.ts';
import { renderEmail } from './message.ts';
import type { Email } from './sending.ts';

/** One message of a channel on its way to its address. */
export type EmailAlert = EmailIdentity & { to: string; message: ChatMessage; unsubscribeUrl: string };

/** The email of a message of a channel, with the link that ends them below it. */
export function buildEmail({ to, message, messageId, threadId, unsubscribeUrl }: EmailAlert): Email {
  const content = renderEmail(message, {
    text: 'You get this because this address was confirmed for alerts of a Spotcheck account.',
    link: { label: 'Unsubscribe', url: unsubscribeUrl },
  });
  return { ...content, to, messageId, threadId, unsubscribeUrl };
}
