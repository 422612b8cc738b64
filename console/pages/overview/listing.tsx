import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { sortTags } from '../../../core/monitors/tags.ts';
import { openIncidents } from '../../client/live.ts';
import { usePoll } from '../../client/reload.ts';
import { canWrite, signedIn } from '../../client/session-state.ts';
import type { Monitor, Schemas } from '../../client/shapes.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/page.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { useShortcut } from '../../shell/keys.tsx';
import { navigate, setQuery } from '../../shell/router.ts';
import { BulkBar, hasBulkBar } from './bulk-bar.tsx';
import { bulk } from './bulk-run.ts';
import { Controls, density, rowHeightOf, useListLayout } from './controls.tsx';
import { KeyFigures, Overdue, type useFigures } from './figures.tsx';
import { FirstRun } from './first-run.tsx';
import { FolderRow } from './folder-row.tsx';
import { FolderButtons, FolderHint, useFolders } from './folder-view.tsx';
import { arrange, groupsOf, listLines, type Line } from './folders.ts';
import { Histories } from './histories.ts';
import { keepPickedOf } from './picked.ts';
import { cursor, useRowEvents } from './row-events.ts';
import { RowHeads } from './row-heads.tsx';
import { MonitorRow } from './row.tsx';
import { countMatches, select, type Selection, type SortFigures } from './selection.ts';

/** The interval at which the figures above the list and those of its rows are loaded, in milliseconds. */
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
    // The row may be there only after the next frame.
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(FIRST_ROW)?.focus());
  };
  useFromTop(search, [status, type, tag, text, sort].join('\n'));
  useShortcut('/', 'Search', () => search.current?.select());
  const change = (part: Partial<Selection>) =>
    setQuery({
      ...('text' in part && { q: part.text ?? '' }),
      ...('status' in part && { status: part.status ?? '' }),
      ...('type' in part && { type: part.type ?? '' }),
      ...('tag' in part && { tag: part.tag ?? '' }),
      ...('sort' in part && { sort: part.sort === 'attention' ? '' : (part.sort ?? '') }),
    });
  return (
    <>
      <div ref={box} data-layout={layout} data-selectable={isSelectable || undefined}>
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

type LowerEdgeProps = {
  box: RefObject<HTMLDivElement | null>;
  figures: Schemas['OverviewFigures'] | null;
  monitors: readonly Monitor[];
  shown: readonly Monitor[];
};

/**
 * What stays at the bottom of the screen: the selection, and the warning of overdue monitors. There it moves nothing
 * when it appears. The steps for a new account make way for either.
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
