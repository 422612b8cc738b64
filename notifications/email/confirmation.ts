import { renderEmail } from './message.ts';
import type { Email } from './sending.ts';

/**
 * The email that asks whether alerts may be sent to an address. It holds no text of the account that wants it, so that
 * nothing can be written to strangers by way of names.
 */
export function buildConfirmation({ to, messageId, link }: { to: string; messageId: string; link: string }): Email {
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
  return { ...content, to, messageId, threadId: null, unsubscribeUrl: null };
}
