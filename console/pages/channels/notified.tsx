import type { ComponentChildren } from 'preact';
import { matchesTags } from '../../../core/monitors/tags.ts';
import { api } from '../../client/api.ts';
import { useReload } from '../../client/reload.ts';
import { Remembered } from '../../client/remembered.ts';
import { canWrite } from '../../client/session-state.ts';
import { Icon } from '../../parts/icon.tsx';
import { useLoad, type Load } from '../../parts/load.tsx';
import { PATHS } from '../../paths.ts';
import type { Channel } from './words.tsx';

/** The channels of the account, kept up to date. */
export function useChannels(): Load<readonly Channel[]> {
  const load = useLoad(async (signal) => (await api.get('/channels', { signal })).channels, []);
  useReload(load, ['channel']);
  return load;
}

/** Whether alerts go to a channel at all: it is connected and enabled. */
export function isActive({ enabled, status }: Channel): boolean {
  return enabled && status === 'connected';
}

/** Whether a channel gets the alerts of a monitor, by the rule of the service (`listRoutes`). */
export function isNotified(channel: Channel, { id, tags }: { id: string; tags: readonly string[] }): boolean {
  return isActive(channel) && (channel.all_monitors || channel.monitor_ids.includes(id) || isTagged(channel, tags));
}

/** Whether a channel that is not for all monitors gets the alerts of those with these tags. */
export function isTagged({ monitor_tags: wanted }: Channel, tags: readonly string[]): boolean {
  if (wanted === null) return false;
  return matchesTags(tags, wanted.any === undefined ? { all: wanted.all ?? [] } : { any: wanted.any });
}

/** That a test alert has arrived: remembered where it was seen, for what is tested is sent beside the record. */
export const testAlert = new Remembered('test-alert');

/** A warning that no channel gets alerts, with the next step; `children` says which. */
export function UnnotifiedWarning({
  hasChannels = true,
  children,
}: {
  hasChannels?: boolean;
  children: ComponentChildren;
}) {
  return (
    <p class="flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded print:hidden">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span class="min-w-0">
        {children}
        {canWrite() && (
          <>
            {' '}
            <a href={hasChannels ? PATHS.channels : PATHS.channelNew} class="font-medium underline underline-offset-2">
              {hasChannels ? 'Channels' : 'New channel'}
            </a>
          </>
        )}
      </span>
    </p>
  );
}

/** Warns on a monitor's page when no channel gets its alerts; nothing where the channels (null) are not known. */
export function UnnotifiedMonitor({
  monitor,
  channels,
}: {
  monitor: { id: string; tags: readonly string[] };
  channels: readonly Channel[] | null;
}) {
  if (channels === null || channels.some((channel) => isNotified(channel, monitor))) return null;
  return (
    <div class="mb-4">
      <UnnotifiedWarning hasChannels={channels.length > 0}>
        No channel receives alerts from this monitor.
      </UnnotifiedWarning>
    </div>
  );
}
