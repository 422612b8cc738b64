import type { WebhookPreset } from '../../../core/alerts/webhook-format.ts';
import type { PresetRequests } from './alert.ts';
import { alertmanager } from './alertmanager.ts';
import { discord } from './discord.ts';
import { googleChat } from './google-chat.ts';
import { gotify } from './gotify.ts';
import { grafanaOncall } from './grafana-oncall.ts';
import { mattermost } from './mattermost.ts';
import { hasTopic, ntfy } from './ntfy.ts';
import { opsgenie } from './opsgenie.ts';
import { pagerduty } from './pagerduty.ts';
import { teams } from './teams.ts';

/** What is wrong with a webhook's URL for its preset, as the end of a sentence about it; null if nothing. */
export function findPresetUrlProblem(preset: WebhookPreset, address: string): string | null {
  const url = URL.parse(address);
  if (preset === 'pagerduty' && !url?.searchParams.get('routing_key'))
    return 'must contain the integration key: https://events.pagerduty.com/v2/enqueue?routing_key=YOUR_KEY';
  if (preset === 'ntfy' && (url === null || !hasTopic(url)))
    return 'must end with the topic, of letters, digits, - and _, at most 64: https://ntfy.sh/YOUR_TOPIC';
  return null;
}

/** The formats of receivers by the names that the API gives them. */
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
