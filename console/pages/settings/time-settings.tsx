import { BROWSER_ZONE } from '../../../core/accounts/time-zone.ts';
import { api } from '../../client/api.ts';
import { session, signedIn } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction } from '../../parts/action.ts';
import { SelectField } from '../../parts/choice-fields.tsx';
import { Choices } from '../../parts/choices.tsx';
import { clock, formatDateTime } from '../../parts/time.tsx';

const CLOCKS: readonly { value: Schemas['Clock']; label: string }[] = [
  { value: 'browser', label: 'Browser' },
  { value: '12h', label: '12-hour' },
  { value: '24h', label: '24-hour' },
];

/** The zones that a user can choose: the browser's, UTC, and all that this browser knows by name. */
function listZones(chosen: string): { value: string; label: string }[] {
  const named = Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC');
  const known = chosen === BROWSER_ZONE || chosen === 'UTC' || named.includes(chosen) ? named : [chosen, ...named];
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return [
    { value: BROWSER_ZONE, label: `Browser (${readable(timeZone)})` },
    { value: 'UTC', label: 'UTC' },
    ...known.map((zone) => ({ value: zone, label: readable(zone) })),
  ];
}

function readable(zone: string): string {
  return zone.replaceAll('_', ' ');
}

/** The zone and the clock in which the console shows times to the user, on all devices. */
export function TimeSettings() {
  const { user } = signedIn();
  const action = useAction();
  const save = (body: Schemas['UserPatch']) =>
    void action.run(async () => {
      const changed = await api.patch('/user', { body });
      session.value = { ...signedIn(), user: changed };
    });
  return (
    <>
      <SelectField
        label="Time zone"
        value={user.time_zone}
        options={listZones(user.time_zone)}
        disabled={action.isBusy.value}
        hint={`Now: ${formatDateTime(clock.value)}`}
        onValue={(zone) => save({ time_zone: zone })}
      />
      <div>
        <div class="mb-1 text-sm font-medium">Clock</div>
        <Choices label="Clock" choices={CLOCKS} value={user.clock} onValue={(chosen) => save({ clock: chosen })} />
      </div>
    </>
  );
}
