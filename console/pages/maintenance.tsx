import { useRef } from 'preact/hooks';
import { api } from '../client/api.ts';
import { listAll } from '../client/pages.ts';
import { useReload } from '../client/reload.ts';
import { canWrite } from '../client/session-state.ts';
import { ButtonLink } from '../parts/button.tsx';
import { Choices } from '../parts/choice-fields.tsx';
import { Loaded, Outdated, useLoad } from '../parts/load.tsx';
import { Empty, Page } from '../parts/page.tsx';
import { useRowKeys } from '../parts/table.tsx';
import { formatDuration, formatUntil, TimesIn } from '../parts/time.tsx';
import { PATHS, type PageProps } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate, setQuery } from '../shell/router.ts';
import { Calendar } from './maintenance/calendar.tsx';
import type { MaintenanceWindow } from './maintenance/draft.ts';
import { describeMonitors, describeTimes, formatSpan, WindowStatus } from './maintenance/words.tsx';

const VIEWS = [
  { value: '', label: 'List' },
  { value: 'calendar', label: 'Calendar' },
] as const;

/** The page of all maintenance windows: a list by what comes first, or a month. */
export function MaintenancePage({ query }: PageProps) {
  const load = useLoad(
    (signal) =>
      listAll(
        (page) => api.page('/maintenance-windows', { query: page, signal }),
        ({ maintenance_windows: windows }) => windows,
      ),
    [],
  );
  useReload(load, ['maintenance']);
  useShortcut('n', 'New maintenance window', canWrite() ? () => navigate(PATHS.maintenanceNew) : null);
  const isAny = (load.value.value?.length ?? 0) > 0;
  const isCalendar = query['view'] === 'calendar';
  return (
    <Page
      title="Maintenance"
      lead="Planned work: checks go on, alerts wait, and uptime leaves it out."
      {...(isAny && canWrite() && { actions: <NewWindow /> })}
    >
      <Outdated load={load} />
      <Loaded load={load}>
        {(windows) =>
          windows.length === 0 && !isCalendar ? (
            <NoWindows />
          ) : (
            <>
              <div class="mb-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
                <Choices
                  label="View"
                  choices={VIEWS}
                  value={isCalendar ? 'calendar' : ''}
                  onValue={(view) => setQuery({ view, month: '' })}
                />
                <span class="text-xs text-soft">
                  <TimesIn />
                </span>
              </div>
              {isCalendar ? <Calendar month={query['month'] ?? ''} /> : <Listing windows={windows} />}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function NewWindow() {
  return (
    <ButtonLink href={PATHS.maintenanceNew} tone="primary" icon="plus">
      New maintenance window
    </ButtonLink>
  );
}

function NoWindows() {
  return (
    <Empty icon="maintenance" title="No maintenance planned" {...(canWrite() && { action: <NewWindow /> })}>
      Plan work once or on a schedule. Alerts wait until its end, and it does not count against uptime.
    </Empty>
  );
}

const ORDER = { active: 0, scheduled: 1, ended: 2 } as const;

/** What is in progress, then what comes first, then what was planned last. */
function compare(a: MaintenanceWindow, b: MaintenanceWindow): number {
  if (a.status !== b.status) return ORDER[a.status] - ORDER[b.status];
  if (a.status === 'ended') return b.starts_at - a.starts_at;
  const soon = ({ current, next }: MaintenanceWindow) => current?.ends_at ?? next?.starts_at ?? Infinity;
  return soon(a) - soon(b);
}

function Listing({ windows }: { windows: readonly MaintenanceWindow[] }) {
  const list = useRef<HTMLUListElement>(null);
  useRowKeys(list, 'maintenance window');
  return (
    <ul
      ref={list}
      aria-label="Maintenance windows"
      class="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface"
    >
      {windows.toSorted(compare).map((window) => (
        <li key={window.id}>
          <Row window={window} />
        </li>
      ))}
    </ul>
  );
}

function Row({ window }: { window: MaintenanceWindow }) {
  const when = whenOf(window);
  return (
    <a
      href={`/maintenance/${window.id}`}
      data-row
      class="
        flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 text-ink hover:bg-hover focus-visible:-outline-offset-2
      "
    >
      <span class="min-w-0 flex-1 basis-60">
        <span class="clipped block text-sm font-medium">{window.name}</span>
        <span class="clipped block text-xs text-soft">
          {describeTimes(window)} · {formatDuration(window.duration_seconds)} · {describeMonitors(window)}
        </span>
      </span>
      {when !== '' && <span class="text-[0.8125rem] text-soft">{when}</span>}
      <WindowStatus status={window.status} />
    </a>
  );
}

function whenOf({ status, current, next }: MaintenanceWindow): string {
  if (current !== null) return `until ${formatUntil(current.ends_at)}`;
  if (next !== null) return `next ${formatSpan(next)}`;
  return status === 'scheduled' ? 'next in more than 60 days' : '';
}
