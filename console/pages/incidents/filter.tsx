import { useSignal } from '@preact/signals';
import { DAY_SECONDS } from '../../../core/time.ts';
import { api } from '../../client/api.ts';
import { monitors } from '../../client/live.ts';
import type { Schemas } from '../../client/shapes.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { SelectField, Choices } from '../../parts/choice-fields.tsx';
import { MOST, PERIODS, readPaging, type Paging, FROM_THE_NEWEST, PERIOD_CHOICES } from '../../parts/paging.tsx';
import { formatDay } from '../../parts/time.tsx';
import { setQuery } from '../../shell/router.ts';
import { MonitorDialog } from '../channels/monitor-choice.tsx';

export type Incident = Schemas['Incident'];

/**
 * The filter of the list, as the address stores it; an empty string does not filter. `day` is a UTC day, `YYYY-MM-DD`:
 * the incidents that were open at some time of it.
 */
export type Filter = { status: string; acknowledged: string; monitorId: string; period: string; day: string } & Paging;

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
  return {
    status: query['status'] ?? '',
    acknowledged: query['acknowledged'] ?? '',
    monitorId: query['monitor_id'] ?? '',
    period: query['period'] ?? '',
    day: dayStart(query['day'] ?? '') === null ? '' : (query['day'] ?? ''),
    ...readPaging(query),
  };
}

/** Whether the filter leaves out anything. */
export function isNarrow({ status, acknowledged, monitorId, period, day, cursor }: Filter): boolean {
  return [status, acknowledged, monitorId, period, day, cursor].some((part) => part !== '');
}

/** Loads the open incidents and a page of the resolved ones. If only open ones are wanted, those are paged instead. */
export async function findIncidents(
  { status, acknowledged, monitorId, period, day, cursor, count }: Filter,
  signal: AbortSignal,
): Promise<Found> {
  const seconds = PERIODS[period]?.seconds;
  const start = dayStart(day);
  const query = {
    ...(acknowledged === 'true' || acknowledged === 'false' ? { acknowledged: acknowledged as 'true' | 'false' } : {}),
    ...(monitorId !== '' && { monitor_id: monitorId }),
    ...(seconds !== undefined && { since: Math.floor(Date.now() / 1000) - seconds }),
    ...(start !== null && { open_since: start, until: start + DAY_SECONDS - 1 }),
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

/** The first second of a UTC day; null if the text is none. */
function dayStart(day: string): number | null {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) : Number.NaN;
  return Number.isNaN(ms) ? null : ms / 1000;
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
        options={PERIOD_CHOICES}
        value={filter.period}
        onValue={(period) => change({ period })}
      />
      <SelectField
        label="Acknowledgement"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={ACKNOWLEDGED_CHOICES}
        value={filter.acknowledged}
        onValue={(acknowledged) => change({ acknowledged })}
      />
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
