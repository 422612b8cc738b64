import { plainText, type PresetRequests } from './alert.ts';

/** From 1 to 5; 3 is ntfy's own default. */
const PRIORITIES = { critical: 5, warning: 4, info: 3 } as const;

const TAGS = { critical: 'red_circle', warning: 'warning', info: 'white_check_mark' } as const;

/**
 * ntfy, published as JSON: the last part of the URL is the topic, the rest the server. A protected topic takes a token
 * by the header `Authorization`. https://docs.ntfy.sh/publish/#publish-as-json
 */
export const ntfy: PresetRequests = ([{ severity, text, message }], { url }) => {
  const server = new URL(url);
  const path = url.pathname.replace(/\/$/, '');
  const cut = path.lastIndexOf('/');
  server.pathname = path.slice(0, cut + 1);
  return [
    {
      url: server,
      body: {
        topic: decodeURIComponent(path.slice(cut + 1)),
        title: text.title,
        message: plainText(text),
        priority: PRIORITIES[severity],
        tags: [TAGS[severity]],
        click: message.url,
      },
    },
  ];
};
