import { listFacts, type PresetRequests } from './alert.ts';

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
                    ...(lines === '' ? [] : [{ textParagraph: { text: escapeHtml(lines) } }]),
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

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
