import { shorten } from '../../../core/alerts/chat/message.ts';
import { toIso } from '../../../core/time.ts';
import type { PresetRequests } from './alert.ts';

/** Longest summary that PagerDuty takes, in characters. */
const SUMMARY = 1024;

/**
 * PagerDuty's Events API v2: an incident triggers an alert, its end resolves it. The integration key is the URL's
 * `routing_key`, which goes into the body. https://developer.pagerduty.com/docs/send-alert-event
 */
export const pagerduty: PresetRequests = (alerts, { url }) => {
  const endpoint = new URL(url);
  const routingKey = endpoint.searchParams.get('routing_key') ?? '';
  endpoint.search = '';
  return alerts.map(({ status, dedupKey, severity, subject, startedAt, text, message }) => ({
    url: endpoint,
    body: {
      routing_key: routingKey,
      event_action: status === 'firing' ? 'trigger' : 'resolve',
      dedup_key: dedupKey,
      client: 'Spotcheck',
      client_url: message.url,
      ...(status === 'firing' && {
        payload: {
          summary: shorten(text.text === null ? text.title : `${text.title}: ${text.text}`, SUMMARY),
          source: subject.target === '' ? subject.name : subject.target,
          severity,
          timestamp: toIso(startedAt),
          component: subject.name,
          class: message.event,
          custom_details: Object.fromEntries(text.facts.map(({ label, value }) => [label, value])),
        },
        links: [{ href: message.url, text: text.link?.label ?? 'Open Spotcheck' }],
      }),
    },
  }));
};
