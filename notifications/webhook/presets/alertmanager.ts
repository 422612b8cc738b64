import { DAY_SECONDS, toIso } from '../../../core/time.ts';
import type { PresetRequests } from './alert.ts';

/**
 * Until when an alert fires without news, in seconds: Alertmanager ends what names no end after five minutes. A
 * recovery sets the real end.
 */
const FIRES_FOR_SECONDS = 30 * DAY_SECONDS;

/**
 * Alertmanager's API v2; the URL ends with `/api/v2/alerts`. Labels are what names an alert, so that a recovery sends
 * the same ones: what an owner can change meanwhile, such as the target, is an annotation.
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
