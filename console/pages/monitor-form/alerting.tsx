import { useSignal } from '@preact/signals';
import { MAX_PARENTS, type DependencyMode, type Parent } from '../../../core/monitors/dependencies.ts';
import { splitTags } from '../../../core/monitors/monitor.ts';
import { sentenceOf } from '../../client/answer.ts';
import { api } from '../../client/api.ts';
import { monitors } from '../../client/live.ts';
import { toast } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { CheckField, SelectField, ZoneField } from '../../parts/choice-fields.tsx';
import { TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { timeZone } from '../../parts/time.tsx';
import { PATHS } from '../../paths.ts';
import { MonitorDialog } from '../channels/monitor-choice.tsx';
import {
  ChannelState,
  TYPES,
  UnnotifiedWarning,
  isActive,
  isTagged,
  namesUnheld,
  type Channel,
} from '../channels/words.tsx';
import type { ServiceHoursDraft } from './draft.ts';
import { Collapsible, FieldProblem, NumberField } from './fields.tsx';
import type { FormState } from './problems.ts';

/** The channels that get a monitor's alerts: those for all monitors, and those that are chosen here. */
export function Notify({ form: { draft, change, channels } }: { form: FormState }) {
  // Routes for all monitors, or by tags, cannot be changed here.
  const tags = splitTags(draft.tags);
  const isRouted = (channel: Channel) => channel.all_monitors || isTagged(channel, tags);
  const isChosen = (channel: Channel) => isRouted(channel) || draft.channels.includes(channel.id);
  const active = channels.filter((channel) => isActive(channel) && isChosen(channel)).length;
  const toggle = (id: string, isOn: boolean) =>
    change({ channels: isOn ? [...draft.channels, id] : draft.channels.filter((each) => each !== id) });
  return (
    <Collapsible
      title="Notifications"
      note={active === 0 ? 'no one is notified' : count(active, 'channel')}
      isOpen={active === 0}
    >
      {active === 0 && <UnnotifiedWarning>No channel receives alerts from this monitor.</UnnotifiedWarning>}
      <fieldset class="min-w-0">
        <legend class="text-sm font-medium">Send alerts to</legend>
        <ul class="mt-1 grid grid-cols-[minmax(0,1fr)] gap-x-5 md:grid-cols-2">
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

/** Returns the channels that are chosen for a monitor, without those for all monitors. */
export function chosenChannels(channels: readonly Channel[], monitorId: string): readonly string[] {
  return channels.flatMap(({ id, all_monitors: isForAll, monitor_ids: ids }) =>
    !isForAll && ids.includes(monitorId) ? [id] : [],
  );
}

/**
 * Adds a stored monitor to the channels of `after` and removes it from those of `before` alone. A channel that cannot
 * be changed is named in a toast: the monitor itself is saved by then.
 */
export async function saveChannels(
  monitorId: string,
  { before, after }: { before: readonly string[]; after: readonly string[] },
): Promise<void> {
  const added = after.filter((id) => !before.includes(id));
  const removed = before.filter((id) => !after.includes(id));
  for (const id of [...added, ...removed]) {
    try {
      // The channel's present list, which may have changed since the form was opened.
      const { monitor_ids: ids } = await api.get('/channels/{id}', { path: { id } });
      const others = ids.filter((each) => each !== monitorId);
      const body = { monitor_ids: added.includes(id) ? [...others, monitorId] : others };
      await api.patch('/channels/{id}', { path: { id }, body });
    } catch (error) {
      toast(`The monitor is saved, but a channel was not changed. ${sentenceOf(error)}`, 'bad');
    }
  }
}

const MODES = [
  { value: 'hold', label: 'Hold alerts while it is down' },
  { value: 'annotate', label: 'Mention it in alerts' },
] as const satisfies readonly { value: DependencyMode; label: string }[];

/** The parents of this monitor, each with the effect on alerts when it is down. */
export function Parents({ form: { draft, change, channels, problem } }: { form: FormState }) {
  const isChoosing = useSignal(false);
  const { parents } = draft;
  const names = new Map(monitors.value?.map(({ id, name }) => [id, name]));
  const tags = splitTags(draft.tags);
  const isChosen = (channel: Channel) =>
    channel.all_monitors || isTagged(channel, tags) || draft.channels.includes(channel.id);
  const set = (next: readonly Parent[]) => change({ parents: next });
  const choose = (id: string) => {
    isChoosing.value = false;
    if (parents.every((each) => each.id !== id)) set([...parents, { id, mode: 'hold' }]);
  };
  return (
    <Collapsible
      title="Parent monitors"
      note={parents.length === 0 ? 'none' : String(parents.length)}
      isOpen={parents.length > 0}
    >
      <p class="text-[0.8125rem] leading-5 text-soft">
        When one of these is down, alerts of this monitor say so. Held chat and email alerts are included in the
        parent’s alert.
        {namesUnheld(channels, isChosen)}
      </p>
      <FieldProblem text={problem('depends_on')} />
      <ul class="mt-1" aria-label="Parent monitors">
        {parents.map(({ id, mode }) => (
          <li key={id} class="flex items-center gap-3 py-1.5 text-sm">
            <span class="clipped min-w-0 grow">{names.get(id) ?? id}</span>
            <SelectField
              label={`When ${names.get(id) ?? id} is down`}
              hideLabel
              options={MODES}
              value={mode}
              onValue={(value) =>
                set(parents.map((each) => (each.id === id ? { id, mode: value as DependencyMode } : each)))
              }
            />
            <Button onClick={() => set(parents.filter((each) => each.id !== id))}>Remove</Button>
          </li>
        ))}
      </ul>
      {parents.length < MAX_PARENTS && <Button onClick={() => (isChoosing.value = true)}>Add a monitor</Button>}
      {isChoosing.value && <MonitorDialog onClose={() => (isChoosing.value = false)} onChosen={choose} />}
    </Collapsible>
  );
}

/** An uptime target that counts service hours alone. */
export function ServiceHours({ form: { draft, change, problem } }: { form: FormState }) {
  const { sla } = draft;
  // A new one starts in the user's time zone.
  const set = (part: Partial<ServiceHoursDraft>) =>
    change({ sla: { ...sla, timezone: sla.timezone || timeZone.value, ...part } });
  const isSet = sla.target !== '' || sla.hours !== '';
  return (
    <Collapsible title="Service hours" note={isSet ? `${sla.target}% of ${sla.hours}` : 'none'} isOpen={isSet} isLazy>
      <p class="text-[0.8125rem] leading-5 text-soft">
        A second uptime target that counts these hours alone. Empty the target and the hours to remove it.
      </p>
      <div class="grid gap-5 md:grid-cols-2">
        <NumberField
          label="Target in service hours"
          unit="%"
          value={sla.target}
          standard={null}
          hint="Like 99.9."
          error={problem('sla.target') ?? problem('sla')}
          onValue={(target) => set({ target })}
        />
        <TextField
          label="Hours"
          value={sla.hours}
          placeholder="Mo-Fr 08:00-20:00"
          hint="Weekdays and times, like Mo-Fr 08:00-20:00; Sa 09:00-13:00"
          error={problem('sla.hours')}
          autocapitalize="off"
          spellcheck={false}
          onValue={(hours) => set({ hours })}
        />
        <ZoneField
          value={sla.timezone || timeZone.value}
          hint="The clock that the hours are read from."
          error={problem('sla.timezone')}
          onValue={(timezone) => set({ timezone })}
        />
      </div>
      <CheckField
        label="Leave maintenance out"
        hint="Maintenance that counts for uptime counts here in any case."
        checked={sla.excludesMaintenance}
        onChecked={(excludesMaintenance) => set({ excludesMaintenance })}
      />
    </Collapsible>
  );
}
