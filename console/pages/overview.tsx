import { useRef } from 'preact/hooks';
import { loadAll, monitors, monitorsError } from '../client/live.ts';
import { canWrite } from '../client/session-state.ts';
import type { Monitor } from '../client/shapes.ts';
import { ButtonLink } from '../parts/button.tsx';
import { FailedLoad, PageSkeleton } from '../parts/load.tsx';
import { Empty, useTitle } from '../parts/page.tsx';
import { type PageProps, PATHS } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate } from '../shell/router.ts';
import { useFigures } from './overview/figures.tsx';
import { FirstRun } from './overview/first-run.tsx';
import { Listing } from './overview/listing.tsx';
import { countStatuses, needsFigures, summarize } from './overview/selection.ts';
import { WallButton } from './overview/wall-link.tsx';

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
      {all.length === 0 ? <NoMonitors /> : <Listing all={all} selection={selection} load={figures} />}
    </div>
  );
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
  const box = useRef<HTMLDivElement>(null);
  return (
    <>
      <Empty icon="monitors" title="No monitors yet" action={<NewMonitor />}>
        A monitor checks a URL, port, host, domain, job or vendor, and alerts you when it fails.
      </Empty>
      <FirstRun monitors={[]} box={box} />
    </>
  );
}
