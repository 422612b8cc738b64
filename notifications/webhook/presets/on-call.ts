import { shorten } from '../../../core/alerts/chat/message.ts';
import { DAY_SECONDS, toIso } from '../../../core/time.ts';
import { plainText, type PresetRequests } from './alert.ts';

/**
 * How long an alert fires without updates, in seconds: Alertmanager ends alerts without an end after five minutes. A
 * recovery sets the real end.
 */
const FIRES_FOR_SECONDS = 30 * DAY_SECONDS;

/**
 * Alertmanager's API v2; the URL ends with `/api/v2/alerts`. Labels identify an alert, so a recovery sends the same
 * ones: facts that an owner can change meanwhile, such as the target, are annotations.
 * https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
 */
export const alertmanager: PresetRequests = (alerts, { url, nowMs }) => [
  {
    url,
    body: alerts.map(({ status, dedupKey, subject, startedAt, text, message }) => ({
      labels: {
        alertname: 'SpotcheckAlert',
        dedup_key: dedupKey,
        ...subject.tags,
      },
      annotations: {
        summary: text.title,
        name: subject.name,
        ...(subject.target !== '' && { target: subject.target }),
        ...(text.text !== null && { description: text.text }),
      },
      startsAt: toIso(startedAt),
      endsAt: toIso(status === 'firing' ? Math.floor(nowMs / 1000) + FIRES_FOR_SECONDS : message.event_at),
      generatorURL: message.url,
    })),
  },
];

/**
 * The formatted webhook of Grafana OnCall and Grafana IRM.
 * https://grafana.com/docs/oncall/latest/configure/integrations/references/webhook/
 */
export const grafanaOncall: PresetRequests = (alerts, { url }) =>
  alerts.map(({ status, dedupKey, text, message }) => ({
    url,
    body: {
      alert_uid: dedupKey,
      title: text.title,
      state: status === 'firing' ? 'alerting' : 'ok',
      link_to_upstream_details: message.url,
      message: plainText(text),
    },
  }));

/** Maximum length of `message` in Opsgenie, in characters. */
const LONGEST_MESSAGE = 130;

const PRIORITIES = { critical: 'P1', warning: 'P3', info: 'P5' } as const;

/**
 * Opsgenie's Alert API, and that of Jira Service Management. The URL is the one of alerts (`/v2/alerts`), the key is
 * sent in the header `Authorization: GenieKey ...`. The request that closes an alert has the alias in its path, where
 * many servers and proxies refuse or decode `%2F` (D-581). https://docs.opsgenie.com/docs/alert-api
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
        message: shorten(text.title, LONGEST_MESSAGE),
        alias,
        description: plainText(text),
        details: { ...subject.tags, target: subject.target, url: alert.message.url },
        entity: subject.name,
        source: 'Spotcheck',
        priority: PRIORITIES[severity],
      },
    };
  });

/** Maximum length of a summary in PagerDuty, in characters. */
const LONGEST_SUMMARY = 1024;

/**
 * PagerDuty's Events API v2: an incident triggers an alert, its end resolves it. The integration key is the URL's
 * `routing_key`, which is moved into the body. https://developer.pagerduty.com/docs/send-alert-event
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
          summary: shorten(text.text === null ? text.title : `${text.title}: ${text.text}`, LONGEST_SUMMARY),
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
