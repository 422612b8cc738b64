import type { WebhookPreset } from '../../../core/alerts/webhook.ts';
import type { PresetRequests } from './alert.ts';
import { discord, googleChat, mattermost, teams } from './chats.ts';
import { alertmanager, grafanaOncall, opsgenie, pagerduty } from './on-call.ts';
import { gotify, hasTopic, ntfy } from './push.ts';

/** Returns the problem of a webhook's URL for its preset, as the end of a sentence about it; null if there is none. */
export function findPresetUrlProblem(preset: WebhookPreset, address: string): string | null {
  const url = URL.parse(address);
  if (preset === 'pagerduty' && !url?.searchParams.get('routing_key'))
    return 'must contain the integration key: https://events.pagerduty.com/v2/enqueue?routing_key=YOUR_KEY';
  if (preset === 'ntfy' && (url === null || !hasTopic(url)))
    return 'must end with the topic, of letters, digits, - and _, at most 64: https://ntfy.sh/YOUR_TOPIC';
  return null;
}

/** The formats of receivers by their names in the API. */
export const PRESETS = {
  alertmanager,
  discord,
  google_chat: googleChat,
  gotify,
  grafana_oncall: grafanaOncall,
  mattermost,
  ntfy,
  opsgenie,
  pagerduty,
  teams,
} as const satisfies Record<WebhookPreset, PresetRequests>;
