import { plainText, type PresetRequests } from './alert.ts';

/** From 0 to 10; phones ring from 8. */
const GOTIFY_PRIORITIES = { critical: 8, warning: 5, info: 2 } as const;

/**
 * Gotify: the URL ends with `/message`, the application's token is sent in the header `X-Gotify-Key` or as `?token=`.
 * https://gotify.net/api-docs#/message/createMessage
 */
export const gotify: PresetRequests = ([{ severity, text, message }], { url }) => [
  {
    url,
    body: {
      title: text.title,
      message: plainText(text),
      priority: GOTIFY_PRIORITIES[severity],
      extras: { 'client::notification': { click: { url: message.url } } },
    },
  },
];

/** Topics that ntfy accepts. */
const TOPIC = /^[-_A-Za-z0-9]{1,64}$/;

/** From 1 to 5; 3 is ntfy's own default. */
const NTFY_PRIORITIES = { critical: 5, warning: 4, info: 3 } as const;

const TAGS = { critical: 'red_circle', warning: 'warning', info: 'white_check_mark' } as const;

/**
 * ntfy, published as JSON: the last segment of the URL is the topic, the rest the server. A protected topic requires a
 * token in the header `Authorization`. https://docs.ntfy.sh/publish/#publish-as-json
 */
export const ntfy: PresetRequests = ([{ severity, text, message }], { url }) => {
  const server = new URL(url);
  const { folder, topic } = splitPath(url);
  server.pathname = folder;
  return [
    {
      url: server,
      body: {
        topic,
        title: text.title,
        message: plainText(text),
        priority: NTFY_PRIORITIES[severity],
        tags: [TAGS[severity]],
        click: message.url,
      },
    },
  ];
};

/** Reports whether a URL ends with a topic that ntfy accepts. */
export function hasTopic(url: URL): boolean {
  return TOPIC.test(splitPath(url).topic);
}

function splitPath({ pathname }: URL): { folder: string; topic: string } {
  const path = pathname.replace(/\/$/, '');
  const cut = path.lastIndexOf('/') + 1;
  return { folder: path.slice(0, cut), topic: path.slice(cut) };
}
