import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { sortTags } from '../../core/monitors/tags.ts';
import { loadAll, monitors, monitorsError, openIncidents } from '../client/live.ts';
import { usePoll } from '../client/reload.ts';
import { canWrite } from '../client/session-state.ts';
import type { Monitor } from '../client/shapes.ts';
import { Button, ButtonLink } from '../parts/button.tsx';
import { FailedLoad, PageSkeleton } from '../parts/load.tsx';
import { Empty, useTitle } from '../parts/page.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { type PageProps, PATHS } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate, setQuery } from '../shell/router.ts';
import { Controls, density, rowHeightOf, useListLayout } from './overview/controls.tsx';
import { KeyFigures, Overdue, useFigures } from './overview/figures.tsx';
import { FirstRun } from './overview/first-run.tsx';
import { Histories } from './overview/histories.ts';
import { MonitorRow, RowHeads } from './overview/row.tsx';
import {
  countMatches,
  countStatuses,
  needsFigures,
  select,
  summarize,
  type Selection,
  type SortFigures,
} from './overview/selection.ts';
import { WallButton } from './overview/wall-link.tsx';

/** The id of the monitor that the keyboard has selected; it survives a visit to its page. */
const cursor = signal<string | null>(null);

/** The page of all monitors. */
export function OverviewPage({ query }: PageProps) {
  const { value: all } = monitors;
  return all === null ? <Loading /> : <Overview all={all} query={query} />;
}

function Loading() {
  useTitle('Monitors');
  return monitorsError.value === null ? (
    <PageSkeleton />
  ) : (
    <FailedLoad error={monitorsError.value} onRetry={() => void loadAll()} />
  );
}

function Overview({ all, query }: { all: readonly Monitor[]; query: PageProps['query'] }) {
  const selection = {
    status: query['status'] ?? '',
    type: query['type'] ?? '',
    tag: query['tag'] ?? '',
    text: query['q'] ?? '',
    sort: query['sort'] ?? 'attention',
  };
  const figures = useFigures(needsFigures(selection.sort));
  const overdue = figures.value.value?.overdue_monitors;
  const title = summarize(countStatuses(all), overdue);
  const bottom = useRef<HTMLDivElement>(null);
  useTitle(title);
  return (
    <div class="flex min-h-full w-full flex-col pb-10 pt-4 md:px-5 md:pt-7">
      <div class="flex items-center justify-between gap-4 px-4 md:px-3">
        <h1 class="heading min-w-0 break-words text-xl md:text-2xl">{title}</h1>
        {all.length > 0 && (
          <div class="flex shrink-0 gap-2">
            <WallButton />
            <NewMonitor isShort />
          </div>
        )}
      </div>
      {all.length === 0 ? <NoMonitors /> : <Listing all={all} selection={selection} load={figures} bottom={bottom} />}
      {/* Both would stand at the bottom, and what is wrong matters more. */}
      {all.length > 0 && (overdue ?? 0) > 0 ? (
        <Overdue figures={figures.value.value} box={bottom} />
      ) : (
        <FirstRun monitors={all} box={bottom} />
      )}
    </div>
  );
}

/** The interval at which the figures above the list and those of its rows are loaded, in milliseconds. */
const FIGURES_EVERY_MS = 15_000;

const NO_FIGURES: ReadonlyMap<string, SortFigures> = new Map();

const NONE_OVERDUE: readonly string[] = [];

type ListingProps = {
  all: readonly Monitor[];
  selection: Selection;
  load: ReturnType<typeof useFigures>;
  /** What sticks to the bottom of the screen, over the rows. */
  bottom: RefObject<HTMLDivElement | null>;
};

function Listing({ all, selection, load, bottom }: ListingProps) {
  const box = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const controls = useRef<HTMLDivElement>(null);
  const histories = useMemo(() => new Histories(), []);
  useEffect(() => () => histories.stop(), []);
  const layout = useListLayout(box);
  const incidents = openIncidents.value;
  const { status, type, tag, text, sort } = selection;
  const { value: figures } = load.value;
  // Together, so that figures of the same time agree.
  const reload = async () => {
    await Promise.all([load.reload(), histories.refresh()]);
  };
  usePoll({ reload }, true, FIGURES_EVERY_MS);
  const ofMonitors = figures?.monitors;
  const byMonitor = useMemo(
    () => (ofMonitors === undefined ? NO_FIGURES : new Map(ofMonitors.map((each) => [each.id, each]))),
    [ofMonitors],
  );
  const overdueIds = figures?.overdue_monitor_ids ?? NONE_OVERDUE;
  // The same set until another monitor is overdue, so that figures that are loaded again draw no row anew.
  const overdue = useMemo(() => new Set(overdueIds), [overdueIds.join()]);
  const shown = useMemo(
    () => select(all, { status, type, tag, text, sort }, { incidents, figures: byMonitor, overdue }),
    [all, incidents, byMonitor, overdue, status, type, tag, text, sort],
  );
  const matching = useMemo(
    () => countMatches(all, { status, type, tag, text, sort }, overdue),
    [all, overdue, type, tag, text],
  );
  const types = useMemo(() => [...new Set(all.map((monitor) => monitor.type))].toSorted(), [all]);
  const tags = useMemo(() => sortTags(all.flatMap((monitor) => monitor.tags)), [all]);
  // Rows that are drawn already step through the list as it is now.
  const rows = useRef(shown);
  rows.current = shown;
  const move = (by: number) => {
    const index = rows.current.findIndex(({ id }) => id === cursor.value);
    const next = rows.current[Math.min(rows.current.length - 1, Math.max(0, index + by))];
    if (next !== undefined) cursor.value = next.id;
  };
  const step = (by: 1 | -1) => (by < 0 && cursor.value === rows.current[0]?.id ? search.current?.focus() : move(by));
  const enterList = () => {
    const [first] = shown;
    if (first === undefined) return;
    cursor.value = first.id;
    box.current?.closest('main')?.scrollTo(0, 0);
    // The row may be there only after the next frame.
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`a[href="/monitors/${first.id}"]`)?.focus());
  };
  useFromTop(search, [status, type, tag, text, sort].join('\n'));
  useShortcut('/', 'Search', () => search.current?.select());
  useShortcut('j', 'Next monitor', () => move(1));
  useShortcut('k', 'Previous monitor', () => move(-1));
  useShortcut('Enter', 'Open the monitor', () => cursor.value !== null && navigate(`/monitors/${cursor.value}`));
  const change = (part: Partial<Selection>) =>
    setQuery({
      ...('text' in part && { q: part.text ?? '' }),
      ...('status' in part && { status: part.status ?? '' }),
      ...('type' in part && { type: part.type ?? '' }),
      ...('tag' in part && { tag: part.tag ?? '' }),
      ...('sort' in part && { sort: part.sort === 'attention' ? '' : (part.sort ?? '') }),
    });
  return (
    <div ref={box} data-layout={layout}>
      <KeyFigures figures={figures} />
      <div
        ref={controls}
        class="
          sticky top-0 z-10 mt-2 border-b border-line bg-paper px-4 pb-2.5 pt-2.5 md:px-0 md:pb-1.5
          [@media(height<32rem)]:static
        "
      >
        <div class="md:px-3">
          <Controls
            selection={selection}
            counts={matching}
            types={types}
            tags={tags}
            layout={layout}
            search={search}
            onChange={change}
            onOpenFirst={() => shown[0] !== undefined && navigate(`/monitors/${shown[0].id}`)}
            onEnterList={enterList}
          />
        </div>
        <RowHeads sort={sort} onSort={(chosen) => change({ sort: chosen })} />
      </div>
      {shown.length === 0 ? (
        <Empty
          icon="search"
          title="No monitors match your filters"
          action={<Button onClick={() => change({ status: '', type: '', tag: '', text: '' })}>Clear filters</Button>}
        >
          {all.length === 1 ? '1 monitor is hidden.' : `${all.length} monitors are hidden.`}
        </Empty>
      ) : (
        <VirtualList
          label="Monitors"
          rows={shown}
          rowHeight={rowHeightOf(layout, density.value)}
          keyOf={keyOf}
          current={cursor.value}
          sticky={{ top: controls, bottom }}
          drawnWith={[incidents, overdue, cursor.value, layout, density.value]}
          onShown={(from, to) => histories.want(shown.slice(from, to).map(keyOf))}
          render={(monitor) => (
            <MonitorRow
              monitor={monitor}
              incident={incidents.get(monitor.id)}
              history={histories.of(monitor.id)}
              isOverdue={overdue.has(monitor.id)}
              isDense={layout !== 'narrow' && density.value === 'dense'}
              isAtCursor={cursor.value === monitor.id}
              onFocus={() => (cursor.value = monitor.id)}
              onStep={step}
            />
          )}
        />
      )}
    </div>
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
  useShortcut('n', 'New monitor', canWrite() ? () => navigate(PATHS.monitorNew) : null);
  return canWrite() ? (
    <ButtonLink href={PATHS.monitorNew} tone="primary" icon="plus">
      <span class={isShort ? 'sr-only md:not-sr-only' : ''}>New monitor</span>
    </ButtonLink>
  ) : null;
}

function NoMonitors() {
  return (
    <Empty icon="monitors" title="No monitors yet" action={<NewMonitor />}>
      A monitor checks a URL, port, host, domain, job or vendor, and alerts you when it fails.
    </Empty>
  );
}

function keyOf({ id }: Monitor): string {
  return id;
}
