import { shorten } from '../../../core/alerts/chat/message.ts';
import { plainText, type PresetRequests } from './alert.ts';

/** Longest `message` that Opsgenie takes, in characters. */
const MESSAGE = 130;

const PRIORITIES = { critical: 'P1', warning: 'P3', info: 'P5' } as const;

/**
 * Opsgenie's Alert API, and that of Jira Service Management. The URL is the one of alerts (`/v2/alerts`), the key comes
 * by the header `Authorization: GenieKey ...`. The alias is part of a path when the alert is closed, where many servers
 * and proxies refuse or decode `%2F` (D-581). https://docs.opsgenie.com/docs/alert-api
 */
export const opsgenie: PresetRequests = (alerts, { url }) =>
  alerts.map((alert) => {
    const { dedupKey, severity, subject, text } = alert;
    const alias = dedupKey.replaceAll('/', ':');
    if (alert.status === 'resolved') {
      const close = new URL(url);
      close.pathname = `${close.pathname.replace(/\/$/, '')}/${encodeURIComponent(alias)}/close`;
      close.searchParams.set('identifierType', 'alias');
      return { url: close, body: { source: 'Spotcheck', note: plainText(text) } };
    }
    return {
      url,
      body: {
        message: shorten(text.title, MESSAGE),
        alias,
        description: plainText(text),
        details: { ...subject.tags, target: subject.target, url: alert.message.url },
        entity: subject.name,
        source: 'Spotcheck',
        priority: PRIORITIES[severity],
      },
    };
  });
