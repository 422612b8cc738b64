import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { sortTags } from '../../../core/monitors/monitor.ts';
import { api, type Monitor, type Schemas } from '../../client/api.ts';
import { liveState } from '../../client/live-stream.ts';
import { monitorsLoad, openIncidents, usePoll, useReload } from '../../client/live.ts';
import { canWrite, signedIn } from '../../client/session-state.ts';
import { Button } from '../../parts/button.tsx';
import { Outdated, useLoad, type Load } from '../../parts/load.tsx';
import { Empty } from '../../parts/page.tsx';
import { OverdueWarning } from '../../parts/status.tsx';
import { formatLatency } from '../../parts/time.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { PATHS } from '../../paths.ts';
import { useShortcut } from '../../shell/keys.tsx';
import { navigate, setQuery } from '../../shell/router.ts';
import { BulkBar, hasBulkBar } from './bulk-bar.tsx';
import { bulk } from './bulk-run.ts';
import { keepPickedOf } from './bulk-steps.ts';
import { Controls, density, rowHeightOf, useListLayout } from './controls.tsx';
import { FirstRun } from './first-run.tsx';
import { FolderButtons, FolderHint, cursor, useFolders, useRowEvents } from './folder-view.tsx';
import { arrange, groupsOf, listLines, type Line } from './folders.ts';
import { Histories } from './histories.ts';
import { FolderRow, RowHeads } from './row-heads.tsx';
import { MonitorRow, formatListUptime } from './row.tsx';
import { countMatches, select, type Selection, type SortFigures } from './selection.ts';

/** Interval of reloading the figures above the list and those of its rows, in milliseconds. */
const FIGURES_EVERY_MS = 15_000;

const NO_FIGURES: ReadonlyMap<string, SortFigures> = new Map();

const NONE_OVERDUE: readonly string[] = [];

type ListingProps = {
  all: readonly Monitor[];
  selection: Selection;
  load: ReturnType<typeof useFigures>;
};

/** The filters, and all monitors that match them: in one list, or in folders. */
export function Listing({ all, selection, load }: ListingProps) {
  const box = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const controls = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const histories = useMemo(() => new Histories(), []);
  useEffect(() => () => histories.stop(), []);
  const layout = useListLayout(box);
  const isSelectable = canWrite();
  const incidents = openIncidents.value;
  const { status, type, tag, text, sort } = selection;
  const { value: figures } = load.value;
  // Reloaded together, so that figures of the same time agree.
  const reload = async () => {
    await Promise.all([load.reload(), histories.refresh()]);
  };
  usePoll({ reload }, true, FIGURES_EVERY_MS);
  // Reloads at once after a lost connection, as the list does.
  useReload({ reload, error: load.error }, []);
  const ofMonitors = figures?.monitors;
  const byMonitor = useMemo(
    () => (ofMonitors === undefined ? NO_FIGURES : new Map(ofMonitors.map((each) => [each.id, each]))),
    [ofMonitors],
  );
  const overdueIds = figures?.overdue_monitor_ids ?? NONE_OVERDUE;
  // The set changes only when another monitor is overdue, so that reloaded figures do not redraw rows.
  const overdue = useMemo(() => new Set(overdueIds), [overdueIds.join()]);
  const shown = useMemo(
    () => select(all, { status, type, tag, text, sort }, { incidents, figures: byMonitor, overdue }),
    [all, incidents, byMonitor, overdue, status, type, tag, text, sort],
  );
  const matching = useMemo(
    () => countMatches(all, { status, type, tag, text, sort }, overdue),
    [all, overdue, type, tag, text],
  );
  const ids = useMemo(() => shown.map(({ id }) => id), [shown]);
  const types = useMemo(() => [...new Set(all.map((monitor) => monitor.type))].toSorted(), [all]);
  const tags = useMemo(() => sortTags(all.flatMap((monitor) => monitor.tags)), [all]);
  const folders = useFolders(selection);
  const { isOn: isFolded, closed } = folders;
  const before = useRef<readonly Line[]>([]);
  const lines = useMemo(() => {
    const isOpen = (path: string) => !closed.has(path);
    return isFolded
      ? arrange(shown, { sort, overdue, isOpen, before: before.current })
      : listLines(shown, before.current);
  }, [shown, overdue, sort, isFolded, closed]);
  before.current = lines;
  const events = useRowEvents({ lines, folders, search, ids: isSelectable ? ids : null });
  const enterList = () => {
    const [first] = lines;
    if (first === undefined) return;
    cursor.value = first.key;
    box.current?.closest('main')?.scrollTo(0, 0);
    // The row may exist only after the next frame.
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(FIRST_ROW)?.focus());
  };
  useFromTop(search, [status, type, tag, text, sort].join('\n'));
  useShortcut('/', 'Search', () => search.current?.select());
  const change = ({ text: q, ...part }: Partial<Selection>) =>
    setQuery({ ...part, ...(q !== undefined && { q }), ...(part.sort === 'attention' && { sort: '' }) });
  return (
    <>
      <div ref={box} data-layout={layout} data-selectable={isSelectable || undefined}>
        <OutdatedList loads={[load, histories.load]} />
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
              onOpenFirst={() => openFirst(lines)}
              onEnterList={enterList}
            >
              <FolderButtons view={folders} lines={lines} monitors={shown} hasRoom={layout !== 'narrow'} />
            </Controls>
          </div>
          <RowHeads sort={sort} onSort={(chosen) => change({ sort: chosen })} ids={isSelectable ? ids : null} />
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
          <div {...events}>
            {isFolded && !all.some((monitor) => groupsOf(monitor).length > 0) && <FolderHint />}
            <VirtualList
              label="Monitors"
              rows={lines}
              rowHeight={rowHeightOf(layout, density.value)}
              keyOf={keyOf}
              current={cursor.value}
              sticky={{ top: controls, bottom }}
              drawnWith={[incidents, overdue, cursor.value, layout, density.value]}
              onShown={(from, to) => histories.want(listIds(lines.slice(from, to)))}
              render={(line) =>
                'folder' in line ? (
                  <FolderRow line={line} isAtCursor={cursor.value === line.key} isSelectable={isSelectable} />
                ) : (
                  <MonitorRow
                    monitor={line.monitor}
                    depth={line.depth}
                    isSelectable={isSelectable}
                    incident={incidents.get(line.monitor.id)}
                    history={histories.of(line.monitor.id)}
                    isOverdue={overdue.has(line.monitor.id)}
                    isDense={layout !== 'narrow' && density.value === 'dense'}
                    isAtCursor={cursor.value === line.key}
                  />
                )
              }
            />
          </div>
        )}
      </div>
      <LowerEdge box={bottom} figures={figures} monitors={all} shown={shown} />
    </>
  );
}

type Reloaded = Omit<Load<unknown>, 'value' | 'isLoading'>;

/** A warning that the list, or the figures of it and its rows, could not be reloaded. */
export function OutdatedList({ loads = [] }: { loads?: readonly Reloaded[] }) {
  // Without a connection the notice above the page explains it.
  if (liveState.value === 'away') return null;
  // The list itself is loaded, whichever of the other loads failed.
  const { value } = monitorsLoad;
  return (
    <div class="px-4 pt-3 empty:hidden md:px-3">
      <Outdated
        load={[monitorsLoad, ...loads.map(({ error, isBusy, reload }) => ({ value, error, isBusy, reload }))]}
      />
    </div>
  );
}

type LowerEdgeProps = {
  box: RefObject<HTMLDivElement | null>;
  figures: Schemas['OverviewFigures'] | null;
  monitors: readonly Monitor[];
  shown: readonly Monitor[];
};

/**
 * The bar at the bottom of the screen: the selection, and the warning of overdue monitors. Its appearance there moves
 * nothing. It replaces the steps for a new account.
 */
function LowerEdge({ box, figures, monitors, shown }: LowerEdgeProps) {
  useEffect(() => {
    keepPickedOf(signedIn().user.id);
    bulk.restore();
  }, []);
  const isOverdue = (figures?.overdue_monitors ?? 0) > 0;
  if (!isOverdue && !hasBulkBar()) return <FirstRun monitors={monitors} box={box} />;
  return (
    <div ref={box} class="sticky bottom-3 z-20 mx-3 mt-3 flex flex-col gap-2">
      {isOverdue && <Overdue figures={figures} />}
      {hasBulkBar() && <BulkBar monitors={monitors} shown={shown} />}
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

/** The main control of the first row. */
const FIRST_ROW = '[aria-posinset="1"] :is(a, button)';

/** Opens the first monitor that is listed. */
function openFirst(lines: readonly Line[]): void {
  const [first] = listIds(lines);
  if (first !== undefined) navigate(`/monitors/${first}`);
}

function listIds(lines: readonly Line[]): string[] {
  return [...new Set(lines.flatMap((line) => ('monitor' in line ? [line.monitor.id] : [])))];
}

function keyOf({ key }: Line): string {
  return key;
}

type AccountFigures = Schemas['OverviewFigures'];

/** Loads the account's figures. `isPerMonitor`: with those of each monitor. */
export function useFigures(isPerMonitor: boolean): Load<AccountFigures> {
  return useLoad(
    (signal) => api.get('/overview/figures', { query: isPerMonitor ? { per_monitor: 'true' } : {}, signal }),
    [isPerMonitor],
  );
}

/** Warns that monitors are overdue, and links to the reason. */
function Overdue({ figures }: { figures: AccountFigures | null }) {
  const { overdue_monitors: overdue, no_checks_since: since } = figures ?? {};
  const [href, label] = signedIn().user.is_operator
    ? [PATHS.fleet, 'Check the system']
    : [`${PATHS.monitors}?status=overdue`, 'Show overdue monitors'];
  return (
    <div class="rounded-md bg-surface shadow-lg">
      <OverdueWarning overdue={overdue} since={since}>
        <a href={href} class="font-medium underline underline-offset-2">
          {label}
        </a>
      </OverdueWarning>
    </div>
  );
}

/** The four figures above the list: uptime, open incidents, alerts and response time. */
function KeyFigures({ figures }: { figures: AccountFigures | null }) {
  const { size: open } = openIncidents.value;
  const { uptime_percent: uptime = null, alerts, median_latency_ms: median = null } = figures ?? {};
  return (
    <dl
      class="
        mx-4 mt-3 grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line md:mx-3 md:grid-cols-4
      "
    >
      <KeyFigure label="Uptime" period="24 h">
        {formatListUptime(uptime) || '–'}
      </KeyFigure>
      <KeyFigure label="Open incidents">
        <a href={`${PATHS.incidents}?status=open`} class={`hover:underline ${open > 0 ? 'text-down' : 'text-ink'}`}>
          {open}
        </a>
      </KeyFigure>
      <KeyFigure label="Alerts" period="24 h">
        {alerts ?? '–'}
      </KeyFigure>
      <KeyFigure label="Response time (p50)" period="24 h">
        {median === null ? '–' : formatLatency(median)}
      </KeyFigure>
    </dl>
  );
}

function KeyFigure({ label, period, children }: { label: string; period?: string; children: ComponentChildren }) {
  return (
    <div class="flex flex-col justify-between bg-surface px-3.5 py-2.5 md:px-4">
      <dt class="text-xs text-soft">
        {label}
        {period !== undefined && `, ${period}`}
      </dt>
      <dd class="heading text-lg leading-6">{children}</dd>
    </div>
  );
}
