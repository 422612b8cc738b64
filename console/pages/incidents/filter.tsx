import { useSignal } from '@preact/signals';
import { DAY_SECONDS } from '../../../core/time.ts';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { monitors } from '../../client/live.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Choices, SelectField } from '../../parts/choice-fields.tsx';
import { DateField } from '../../parts/field.tsx';
import { FROM_THE_NEWEST, MOST, PERIODS, PERIOD_CHOICES, readPaging, type Paging } from '../../parts/table.tsx';
import { TimesIn, formatDay, timeZone } from '../../parts/time.tsx';
import { fromWallTime } from '../../parts/wall-time.ts';
import { setQuery } from '../../shell/router.ts';
import { MonitorDialog } from '../channels/monitor-choice.tsx';

export type Incident = Schemas['Incident'];

/**
 * Filter of the list, as stored in the address; an empty string does not filter. `day` is a UTC day, `YYYY-MM-DD`: the
 * incidents that were open at some time of it. `from` and `to` are the first and the last day of a custom period, in
 * the user's zone: the incidents that were open at some time of these.
 */
export type Filter = {
  status: string;
  acknowledged: string;
  monitorId: string;
  period: string;
  day: string;
  from: string;
  to: string;
} & Paging;

/** The period with custom dates. */
const CUSTOM = 'custom';

/**
 * `next` is the cursor of older incidents; null if there are none. `hasMoreOpen`: only the newest open ones are here.
 */
export type Found = {
  open: readonly Incident[];
  resolved: readonly Incident[];
  next: string | null;
  hasMoreOpen: boolean;
};

const NOTHING = { answer: { incidents: [] as Incident[] }, next: null };

/** Reads the filter from an address. */
export function readFilter(query: Readonly<Record<string, string>>): Filter {
  const period = query['period'] ?? '';
  const dateOf = (name: string) => (dayStart(query[name] ?? '') === null ? '' : (query[name] ?? ''));
  return {
    status: query['status'] ?? '',
    acknowledged: query['acknowledged'] ?? '',
    monitorId: query['monitor_id'] ?? '',
    period,
    day: dateOf('day'),
    from: period === CUSTOM ? dateOf('from') : '',
    to: period === CUSTOM ? dateOf('to') : '',
    ...readPaging(query),
  };
}

/** Reports whether the filter excludes anything. */
export function isNarrow({ status, acknowledged, monitorId, period, day, from, to, cursor }: Filter): boolean {
  const parts = [status, acknowledged, monitorId, period === CUSTOM ? from + to : period, day, cursor];
  return parts.some((part) => part !== '');
}

/** Loads the open incidents and a page of the resolved ones. If only open ones are wanted, those are paged instead. */
export async function findIncidents(
  { status, acknowledged, monitorId, period, day, from, to, cursor, count }: Filter,
  signal: AbortSignal,
): Promise<Found> {
  const seconds = PERIODS[period]?.seconds;
  const start = dayStart(day);
  const query = {
    ...(acknowledged === 'true' || acknowledged === 'false' ? { acknowledged: acknowledged as 'true' | 'false' } : {}),
    ...(monitorId !== '' && { monitor_id: monitorId }),
    ...(seconds !== undefined && { open_since: serviceSeconds() - seconds }),
    ...(start !== null && { open_since: start, until: start + DAY_SECONDS - 1 }),
    ...(from !== '' && { open_since: secondOf(`${from}T00:00:00`) }),
    ...(to !== '' && { until: secondOf(`${to}T23:59:59`) }),
  };
  const paged = { limit: count, ...(cursor !== '' && { cursor }) };
  const [open, resolved] = await Promise.all([
    status === 'resolved' || (status === '' && cursor !== '')
      ? NOTHING
      : api.page('/incidents', {
          query: { ...query, status: 'open', ...(status === 'open' ? paged : { limit: MOST }) },
          signal,
        }),
    status === 'open' ? NOTHING : api.page('/incidents', { query: { ...query, status: 'resolved', ...paged }, signal }),
  ]);
  const isOpenOnly = status === 'open';
  return {
    open: open.answer.incidents,
    resolved: resolved.answer.incidents,
    next: isOpenOnly ? open.next : resolved.next,
    hasMoreOpen: !isOpenOnly && open.next !== null,
  };
}

/** Converts a wall time in the user's zone to Unix seconds. */
function secondOf(wallTime: string): number {
  return Math.max(0, fromWallTime(wallTime, timeZone.value) ?? 0);
}

/** Returns the first second of a UTC day; null if the text is none. */
function dayStart(day: string): number | null {
  return /^\d{4}-\d{2}-\d{2}$/.test(day) ? fromWallTime(`${day}T00:00:00`, 'UTC') : null;
}

const STATUS_CHOICES = [
  { value: '', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];
const ACKNOWLEDGED_CHOICES = [
  { value: '', label: 'Acknowledgement: any' },
  { value: 'false', label: 'Not acknowledged' },
  { value: 'true', label: 'Acknowledged' },
];
const PERIODS_AND_DATES = [...PERIOD_CHOICES, { value: CUSTOM, label: 'Custom dates' }];

/** The controls of the filter. */
export function IncidentFilters({ filter }: { filter: Filter }) {
  const isChoosing = useSignal(false);
  const change = (part: Readonly<Record<string, string>>) => setQuery({ ...FROM_THE_NEWEST, ...part });
  const monitor = (monitors.value ?? []).find(({ id }) => id === filter.monitorId);
  return (
    <div class="mb-4 flex flex-wrap items-center gap-2" role="search" aria-label="Incidents">
      <Choices label="Status" choices={STATUS_CHOICES} value={filter.status} onValue={(status) => change({ status })} />
      <span class="inline-flex min-w-0 items-center">
        <Button onClick={() => (isChoosing.value = true)} class="max-w-64 font-normal" aria-haspopup="dialog">
          {filter.monitorId === '' ? 'All monitors' : (monitor?.name ?? '1 monitor')}
        </Button>
        {filter.monitorId !== '' && (
          <IconButton icon="close" label="All monitors" onClick={() => change({ monitor_id: '' })} />
        )}
      </span>
      <SelectField
        label="Period"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={PERIODS_AND_DATES}
        value={filter.period}
        onValue={(period) => change({ period, from: '', to: '', ...(period === CUSTOM && { day: '' }) })}
      />
      <SelectField
        label="Acknowledgement"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={ACKNOWLEDGED_CHOICES}
        value={filter.acknowledged}
        onValue={(acknowledged) => change({ acknowledged })}
      />
      {filter.period === CUSTOM && <Dates filter={filter} onChange={change} />}
      {filter.day !== '' && (
        <span class="inline-flex items-center text-sm">
          {formatDay(dayStart(filter.day) ?? 0)} (UTC)
          <IconButton icon="close" label="All days" onClick={() => change({ day: '' })} />
        </span>
      )}
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

const DATE_FIELD = {
  type: 'date',
  isDate: (typed: string) => dayStart(typed) !== null,
  class: 'min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-44',
} as const;

type DatesProps = { filter: Filter; onChange: (part: Readonly<Record<string, string>>) => void };

/** The first and the last day of a custom period; either may be left empty. */
function Dates({ filter: { from, to }, onChange }: DatesProps) {
  const isReversed = from !== '' && to !== '' && to < from;
  return (
    <div class="flex basis-full flex-wrap gap-2">
      <DateField
        label="From"
        value={from}
        hint={<TimesIn />}
        onValue={(date) => onChange({ from: date })}
        {...DATE_FIELD}
      />
      <DateField
        label="To"
        value={to}
        error={isReversed ? 'Must not be before From' : null}
        onValue={(date) => onChange({ to: date })}
        {...DATE_FIELD}
      />
    </div>
  );
}
