import { plainText, type PresetRequests } from './alert.ts';

/** From 0 to 10; from 8 on phones ring. */
const PRIORITIES = { critical: 8, warning: 5, info: 2 } as const;

/**
 * Gotify: the URL ends with `/message`, the application's token comes by the header `X-Gotify-Key` or as `?token=`.
 * https://gotify.net/api-docs#/message/createMessage
 */
export const gotify: PresetRequests = ([{ severity, text, message }], { url }) => [
  {
    url,
    body: {
      title: text.title,
      message: plainText(text),
      priority: PRIORITIES[severity],
      extras: { 'client::notification': { click: { url: message.url } } },
    },
  },
];
