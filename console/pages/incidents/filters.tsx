import { useSignal } from '@preact/signals';
import { monitors } from '../../client/live.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Choices } from '../../parts/choices.tsx';
import { SelectField } from '../../parts/field.tsx';
import { FROM_THE_NEWEST } from '../../parts/further-back.tsx';
import { setQuery } from '../../shell/router.ts';
import { MonitorDialog } from '../channels/monitor-choice.tsx';
import { PERIODS, type Filter } from './questions.ts';

const STATUSES = [
  { value: '', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];
const ACKNOWLEDGED = [
  { value: '', label: 'Acknowledged?' },
  { value: 'false', label: 'Not acknowledged' },
  { value: 'true', label: 'Acknowledged' },
];
const WHEN = [
  { value: '', label: 'Any time' },
  ...Object.entries(PERIODS).map(([value, { label }]) => ({ value, label })),
];

/** Narrows the list; all of it stands in the address. */
export function IncidentFilters({ filter }: { filter: Filter }) {
  const isChoosing = useSignal(false);
  const change = (part: Readonly<Record<string, string>>) => setQuery({ ...FROM_THE_NEWEST, ...part });
  const monitor = (monitors.value ?? []).find(({ id }) => id === filter.monitorId);
  return (
    <div class="mb-4 flex flex-wrap items-center gap-2" role="search" aria-label="Incidents">
      <Choices
        label="Which incidents"
        choices={STATUSES}
        value={filter.status}
        onValue={(status) => change({ status })}
      />
      <span class="inline-flex min-w-0 items-center">
        <Button onClick={() => (isChoosing.value = true)} class="max-w-64 font-normal" aria-haspopup="dialog">
          {filter.monitorId === '' ? 'All monitors' : (monitor?.name ?? 'One monitor')}
        </Button>
        {filter.monitorId !== '' && (
          <IconButton icon="close" label="All monitors" onClick={() => change({ monitor_id: '' })} />
        )}
      </span>
      <SelectField
        label="When"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={WHEN}
        value={filter.period}
        onValue={(period) => change({ period })}
      />
      <SelectField
        label="Acknowledged"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={ACKNOWLEDGED}
        value={filter.acknowledged}
        onValue={(acknowledged) => change({ acknowledged })}
      />
      {isChoosing.value && (
        <MonitorDialog
          onClose={() => (isChoosing.value = false)}
          onChosen={(id) => {
            isChoosing.value = false;
            change({ monitor_id: id });
          }}
        />
      )}
    </div>
  );
}
