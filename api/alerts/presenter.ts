import type { Channel } from '../../core/alerts/channel.ts';
import type { components } from '../schema.generated.ts';

/** A channel as it is shown: of a webhook's address only the host. */
export function presentChannel(channel: Channel): components['schemas']['Channel'] {
  return {
    id: channel.id,
    type: channel.type,
    name: channel.name,
    enabled: channel.enabled,
    created_at: channel.createdAt,
    status: channel.status,
    all_monitors: channel.allMonitors,
    monitor_ids: channel.monitorIds,
    url_host: channel.urlHost,
    team_name: channel.teamName,
    channel_name: channel.channelName,
    ...(channel.type !== 'webhook' && { reports: channel.wantsReports }),
    ...(channel.lastError !== null && { last_error: channel.lastError.text, last_error_at: channel.lastError.at }),
  };
}
