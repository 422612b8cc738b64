import { useRef } from 'preact/hooks';
import { api } from '../client/api.ts';
import { useReload } from '../client/live.ts';
import { canWrite } from '../client/session-state.ts';
import { ButtonLink } from '../parts/button.tsx';
import { count } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { Loaded, Outdated, useLoad } from '../parts/load.tsx';
import { Empty, Page } from '../parts/page.tsx';
import { useRowKeys } from '../parts/table.tsx';
import { Moment } from '../parts/time.tsx';
import { PATHS } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate } from '../shell/router.ts';
import { describeTags } from './channels/monitor-choice.tsx';
import { ChannelState, TYPES, destinationOf, type Channel } from './channels/words.tsx';

/** The page of all channels. */
export function ChannelsPage() {
  const load = useLoad((signal) => api.get('/channels', { signal }), []);
  useReload(load, ['channel']);
  useShortcut('n', 'New channel', canWrite() ? () => navigate(PATHS.channelNew) : null);
  const isAny = (load.value.value?.channels.length ?? 0) > 0;
  return (
    <Page title="Channels" lead="Where alerts are sent." {...(isAny && canWrite() && { actions: <NewChannel /> })}>
      <Outdated load={load} />
      <Loaded load={load}>
        {({ channels }) => (channels.length === 0 ? <NoChannels /> : <Listing channels={channels} />)}
      </Loaded>
    </Page>
  );
}

function NewChannel() {
  return (
    <ButtonLink href={PATHS.channelNew} tone="primary" icon="plus">
      New channel
    </ButtonLink>
  );
}

function NoChannels() {
  return (
    <Empty icon="channels" title="No alert channels yet" {...(canWrite() && { action: <NewChannel /> })}>
      Send alerts to an email address, a Telegram chat, a Slack channel or a webhook. Without a channel, no one is
      notified.
    </Empty>
  );
}

function Listing({ channels }: { channels: readonly Channel[] }) {
  const list = useRef<HTMLUListElement>(null);
  useRowKeys(list, 'channel');
  return (
    <ul ref={list} class="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
      {channels.map((channel) => (
        <li key={channel.id}>
          <Row channel={channel} />
        </li>
      ))}
    </ul>
  );
}

function Row({ channel }: { channel: Channel }) {
  const destination = destinationOf(channel);
  return (
    <a
      href={`/channels/${channel.id}`}
      data-row
      class="
        flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 text-ink hover:bg-hover focus-visible:-outline-offset-2
      "
    >
      <span class="min-w-0 flex-1 basis-48">
        <span class="clipped block text-sm font-medium">{channel.name}</span>
        <span class="clipped block text-xs text-soft">
          {TYPES[channel.type].label}
          {destination !== null && ` · ${destination}`} ·{' '}
          {channel.all_monitors ? 'all monitors' : describeRoute(channel)}
        </span>
      </span>
      <ChannelState channel={channel} />
      {channel.last_error !== undefined && (
        <span class="flex basis-full gap-1.5 text-[0.8125rem] text-down">
          <Icon name="warning" class="mt-0.5 size-4" />
          <span class="min-w-0 break-words">
            {channel.last_error}
            {channel.last_error_at !== undefined && (
              <span class="text-soft">
                {' · '}
                <Moment at={channel.last_error_at} />
              </span>
            )}
          </span>
        </span>
      )}
    </a>
  );
}

function describeRoute(channel: Channel): string {
  const { length } = channel.monitor_ids;
  const tags = describeTags(channel);
  const named = count(length, 'monitor');
  if (tags === '') return named;
  return length === 0 ? `tagged ${tags}` : `${named}, and tagged ${tags}`;
}
