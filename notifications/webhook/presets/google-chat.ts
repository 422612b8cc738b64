import { escapeShown } from '../../../core/alerts/chat/message.ts';
import { listFacts, type PresetRequests } from './alert.ts';

/** Longer than any alert, and what Google Chat takes of a text, in characters. */
const LONGEST = 4096;

/**
 * A Google Chat webhook: a card, whose texts take a few HTML tags, and a line for notifications.
 * https://developers.google.com/workspace/chat/api/reference/rest/v1/cards
 */
export const googleChat: PresetRequests = ([{ dedupKey, subject, text, message }], { url }) => {
  const thread = new URL(url);
  thread.searchParams.set('messageReplyOption', 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD');
  const lines = [text.text, listFacts(text)].filter((line) => line !== null && line !== '').join('\n');
  return [
    {
      url: thread,
      body: {
        fallbackText: text.title,
        thread: { threadKey: dedupKey },
        cardsV2: [
          {
            cardId: dedupKey,
            card: {
              header: { title: text.title, subtitle: subject.target },
              sections: [
                {
                  widgets: [
                    ...(lines === '' ? [] : [{ textParagraph: { text: escapeShown(lines, LONGEST) } }]),
                    {
                      buttonList: {
                        buttons: [
                          { text: text.link?.label ?? 'Open Spotcheck', onClick: { openLink: { url: message.url } } },
                        ],
                      },
                    },
                  ],
                },
              ],
            },
          },
        ],
      },
    },
  ];
};
