import { CheckField } from '../../parts/choice-fields.tsx';
import { TextField } from '../../parts/field.tsx';
import { timeZone } from '../../parts/time.tsx';
import { ZoneField } from '../../parts/zone-field.tsx';
import type { FormState } from './defaults.ts';
import type { ServiceHoursDraft } from './draft.ts';
import { Collapsible, NumberField } from './fields.tsx';

/** An uptime target that counts service hours alone. */
export function ServiceHours({ form: { draft, change, problem } }: { form: FormState }) {
  const { sla } = draft;
  // A new one is in the zone in which the user sees times.
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
