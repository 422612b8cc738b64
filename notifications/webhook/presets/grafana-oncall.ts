import { plainText, type PresetRequests } from './alert.ts';

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
