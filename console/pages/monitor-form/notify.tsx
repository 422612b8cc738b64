import { splitTags } from '../../../core/monitors/tags.ts';
import { api } from '../../client/api.ts';
import { sentenceOf } from '../../client/failure.ts';
import { toast } from '../../parts/toast.tsx';
import { PATHS } from '../../paths.ts';
import { isActive, isTagged, UnnotifiedWarning } from '../channels/notified.tsx';
import { ChannelState, TYPES, type Channel } from '../channels/words.tsx';
import type { FormState } from './defaults.ts';
import { Collapsible } from './fields.tsx';

/** The channels that get a monitor's alerts: those for all monitors, and those that are chosen here. */
export function Notify({ form: { draft, change, channels } }: { form: FormState }) {
  // What all monitors, or its tags, route there is not chosen here.
  const tags = splitTags(draft.tags);
  const isRouted = (channel: Channel) => channel.all_monitors || isTagged(channel, tags);
  const isChosen = (channel: Channel) => isRouted(channel) || draft.channels.includes(channel.id);
  const active = channels.filter((channel) => isActive(channel) && isChosen(channel)).length;
  const toggle = (id: string, isOn: boolean) =>
    change({ channels: isOn ? [...draft.channels, id] : draft.channels.filter((each) => each !== id) });
  return (
    <Collapsible
      title="Notifications"
      note={active === 0 ? 'no one is notified' : `${active} ${active === 1 ? 'channel' : 'channels'}`}
      isOpen={active === 0}
    >
      {active === 0 && <UnnotifiedWarning>No channel receives alerts from this monitor.</UnnotifiedWarning>}
      <fieldset class="min-w-0">
        <legend class="text-sm font-medium">Send alerts to</legend>
        <ul class="mt-1 grid gap-x-5 md:grid-cols-2">
          {channels.map((channel) => (
            <li key={channel.id}>
              <label class="flex min-w-0 items-center gap-2.5 py-1.5 text-sm">
                <input
                  type="checkbox"
                  checked={isChosen(channel)}
                  disabled={isRouted(channel)}
                  onChange={(event) => toggle(channel.id, event.currentTarget.checked)}
                  class="size-[1.125rem] shrink-0 accent-accent"
                />
                <span class="clipped min-w-0">
                  {channel.name}
                  <span class="text-soft">
                    {' '}
                    {TYPES[channel.type].label}
                    {channel.all_monitors ? ', all monitors' : isRouted(channel) && ', by tags'}
                  </span>
                </span>
                {!isActive(channel) && <ChannelState channel={channel} />}
              </label>
            </li>
          ))}
        </ul>
        <a
          href={PATHS.channelNew}
          target="_blank"
          class="mt-1 inline-block text-[0.8125rem] text-accent underline underline-offset-2"
        >
          New channel (opens a new tab)
        </a>
      </fieldset>
    </Collapsible>
  );
}

/** The channels that are chosen for a monitor; those for all monitors are not among them. */
export function chosenChannels(channels: readonly Channel[], monitorId: string): readonly string[] {
  return channels.flatMap(({ id, all_monitors: isForAll, monitor_ids: ids }) =>
    !isForAll && ids.includes(monitorId) ? [id] : [],
  );
}

/**
 * Adds a stored monitor to the channels of `after` and takes it from those of `before` alone. A channel that cannot be
 * changed is named in a toast: the monitor itself is saved by then.
 */
export async function saveChannels(
  monitorId: string,
  { before, after }: { before: readonly string[]; after: readonly string[] },
): Promise<void> {
  const added = after.filter((id) => !before.includes(id));
  const removed = before.filter((id) => !after.includes(id));
  for (const id of [...added, ...removed]) {
    try {
      // Its list as it is now: it may have changed since the form was opened.
      const { monitor_ids: ids } = await api.get('/channels/{id}', { path: { id } });
      const others = ids.filter((each) => each !== monitorId);
      const body = { monitor_ids: added.includes(id) ? [...others, monitorId] : others };
      await api.patch('/channels/{id}', { path: { id }, body });
    } catch (error) {
      toast(`The monitor is saved, but a channel was not changed. ${sentenceOf(error)}`, 'bad');
    }
  }
}
