import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { loadAll, monitors, monitorsError, openIncidents } from '../client/live.ts';
import { canWrite } from '../client/session-state.ts';
import type { Monitor } from '../client/shapes.ts';
import { Button, ButtonLink } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { FailedLoad, Placeholder } from '../parts/load.tsx';
import { useTitle, useWide } from '../parts/page.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { type PageProps, PATHS } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate, setQuery } from '../shell/router.ts';
import { Controls } from './overview/controls.tsx';
import { FirstRun } from './overview/first-run.tsx';
import { Histories } from './overview/histories.ts';
import { MonitorRow, ROW_HEIGHT, RowHeads } from './overview/row.tsx';
import { countStatuses, select, summarize, type Selection } from './overview/selection.ts';

/** The id of the monitor that the keyboard has selected; it survives a visit to its page. */
const cursor = signal<string | null>(null);

/** The page of all monitors. */
export function OverviewPage({ query }: PageProps) {
  const { value: all } = monitors;
  const counts = countStatuses(all ?? []);
  const title = summarize(counts);
  useTitle(all === null ? 'Monitors' : title);
  if (all === null)
    return monitorsError.value === null ? (
      <Placeholder class="h-full" />
    ) : (
      <FailedLoad error={monitorsError.value} onRetry={() => void loadAll()} />
    );
  const selection = {
    status: query['status'] ?? '',
    type: query['type'] ?? '',
    text: query['q'] ?? '',
    sort: query['sort'] ?? 'attention',
  };
  return (
    <div class="mx-auto flex min-h-full w-full max-w-6xl flex-col pb-10 pt-4 md:px-5 md:pt-7">
      <div class="flex items-center justify-between gap-4 px-4 md:px-3">
        <h1 class="heading text-xl md:text-2xl">{title}</h1>
        {all.length > 0 && <NewMonitor isShort />}
      </div>
      {all.length === 0 ? <NoMonitors /> : <Listing all={all} counts={counts} selection={selection} />}
      <FirstRun monitors={all} />
    </div>
  );
}

function Listing({
  all,
  counts,
  selection,
}: {
  all: readonly Monitor[];
  counts: ReturnType<typeof countStatuses>;
  selection: Selection;
}) {
  const search = useRef<HTMLInputElement>(null);
  const histories = useMemo(() => new Histories(), []);
  useEffect(() => () => histories.stop(), []);
  const rowHeight = useWide() ? ROW_HEIGHT.wide : ROW_HEIGHT.narrow;
  const incidents = openIncidents.value;
  const { status, type, text, sort } = selection;
  const shown = useMemo(
    () => select(all, { status, type, text, sort }, incidents),
    [all, incidents, status, type, text, sort],
  );
  const types = useMemo(() => [...new Set(all.map((monitor) => monitor.type))].toSorted(), [all]);
  const move = (step: number) => {
    const index = shown.findIndex(({ id }) => id === cursor.value);
    const next = shown[Math.min(shown.length - 1, Math.max(0, index + step))];
    if (next !== undefined) cursor.value = next.id;
  };
  useFromTop(search, [status, type, text, sort].join('\n'));
  useShortcut('/', 'Search', () => search.current?.select());
  useShortcut('j', 'Next monitor', () => move(1));
  useShortcut('k', 'Previous monitor', () => move(-1));
  useShortcut('Enter', 'Open the monitor', () => cursor.value !== null && navigate(`/monitors/${cursor.value}`));
  const change = (part: Partial<Selection>) =>
    setQuery({
      ...('text' in part && { q: part.text ?? '' }),
      ...('status' in part && { status: part.status ?? '' }),
      ...('type' in part && { type: part.type ?? '' }),
      ...('sort' in part && { sort: part.sort === 'attention' ? '' : (part.sort ?? '') }),
    });
  return (
    <>
      <div class="sticky top-0 z-10 mt-2 border-b border-line bg-paper px-4 pb-2.5 pt-2.5 md:px-0 md:pb-1.5">
        <div class="md:px-2.5">
          <Controls selection={selection} counts={counts} types={types} search={search} onChange={change} />
        </div>
        <RowHeads />
      </div>
      {shown.length === 0 ? (
        <Empty
          icon="search"
          title="No monitor matches"
          action={<Button onClick={() => change({ status: '', type: '', text: '' })}>Show all</Button>}
        >
          Of {all.length} monitors none is what you are looking for.
        </Empty>
      ) : (
        <VirtualList
          label="Monitors"
          rows={shown}
          rowHeight={rowHeight}
          keyOf={keyOf}
          current={cursor.value}
          drawnWith={[incidents, cursor.value]}
          onShown={(from, to) => histories.want(shown.slice(from, to).map(keyOf))}
          render={(monitor) => (
            <MonitorRow
              monitor={monitor}
              incident={incidents.get(monitor.id)}
              history={histories.of(monitor.id)}
              isAtCursor={cursor.value === monitor.id}
              onFocus={() => (cursor.value = monitor.id)}
            />
          )}
        />
      )}
    </>
  );
}

/** Scrolls to the top when the selection changes. */
function useFromTop(part: RefObject<HTMLElement | null>, choice: string): void {
  const shown = useRef(choice);
  useEffect(() => {
    if (shown.current !== choice) part.current?.closest('main')?.scrollTo(0, 0);
    shown.current = choice;
  }, [choice]);
}

/** A button for roles that may create monitors; `isShort` shows an icon only on narrow screens. */
function NewMonitor({ isShort = false }: { isShort?: boolean }) {
  useShortcut('n', 'New monitor', () => canWrite() && navigate(PATHS.monitorNew));
  return canWrite() ? (
    <ButtonLink href={PATHS.monitorNew} tone="primary" icon="plus">
      <span class={isShort ? 'sr-only md:not-sr-only' : ''}>New monitor</span>
    </ButtonLink>
  ) : null;
}

function NoMonitors() {
  return (
    <Empty icon="monitors" title="Nothing is watched yet" action={<NewMonitor />}>
      A monitor watches a web page, a port, a host, a domain, a job or a vendor, and notifies you when it stops working.
      The first one takes a name and an address.
    </Empty>
  );
}

function keyOf({ id }: Monitor): string {
  return id;
}
