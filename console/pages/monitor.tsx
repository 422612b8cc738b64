import { useEffect, useRef } from 'preact/hooks';
import { Failure } from '../client/answer.ts';
import { api, type Schemas } from '../client/api.ts';
import { liveState } from '../client/live-stream.ts';
import { loadAll, monitors, openIncidents } from '../client/live.ts';
import { Icon } from '../parts/icon.tsx';
import { FailedLoad, Outdated, PageSkeleton, useLoad } from '../parts/load.tsx';
import { STATUSES } from '../parts/monitors.ts';
import { EmptyPage } from '../parts/object-page.tsx';
import { useTitle } from '../parts/page.tsx';
import { QuietUntil } from '../parts/status.tsx';
import { clock, formatDuration, formatShort, formatUntil } from '../parts/time.tsx';
import { PATHS, type PageProps } from '../paths.ts';
import { UnnotifiedMonitor, useChannels } from './channels/words.tsx';
import { Actions } from './monitor/actions.tsx';
import { readTimes, useChecks, type CheckChoice } from './monitor/check-log.tsx';
import { Checks } from './monitor/checks.tsx';
import { Drills } from './monitor/drills.tsx';
import { Incidents } from './monitor/incidents.tsx';
import { STEP_SECONDS, readView } from './monitor/lines.tsx';
import { Locations } from './monitor/locations.tsx';
import { readShown, wordsOf } from './monitor/ranges.ts';
import { Response } from './monitor/response.tsx';
import { Settings } from './monitor/settings.tsx';
import { Special } from './monitor/specials.tsx';
import { hasLocations } from './monitor/status-words.ts';
import { Dependencies, MonitorStatus } from './monitor/status.tsx';
import { Uptime } from './monitor/uptime.tsx';
import { useMonitor } from './monitor/use-monitor.ts';

/** Interval at which the list of pings is polled, in milliseconds. */
const PING_POLL_MS = 5000;

const NEWEST: CheckChoice = { verdict: '', source: '', span: null };

/** Delays in milliseconds at which the list is polled after "Check now": results arrive within seconds. */
const POLLS_AFTER_MS = [700, 1500, 3000, 6000, 11_000];

/** The page of one monitor: status, response times, uptime, incidents, checks and settings. */
export function MonitorPage({ params, query }: PageProps) {
  const id = params['id'] ?? '';
  return <MonitorView key={id} id={id} query={query} />;
}

function MonitorView({ id, query }: { id: string; query: PageProps['query'] }) {
  const channels = useChannels();
  const shown = readShown(query);
  const view = readView(query);
  const loads = useMonitor(id, shown, { withTimings: view.name === 'phases' });
  const { detail, incidents, stats, before, uptime, agents, locations, row, isDeleted } = loads;
  const { value: whole } = detail.value;
  const interval = row?.interval_seconds ?? 60;
  const isBeat = row?.type === 'heartbeat';
  // No event announces a ping that changes nothing.
  const refreshMs = isBeat ? PING_POLL_MS : Math.min(60, Math.max(10, interval)) * 1000;
  const answer = stats.value.value;
  const at = Number(query['at'] ?? '');
  const picked = query['at'] === undefined || !Number.isSafeInteger(at) || at <= 0 ? null : at;
  const span =
    picked === null ? readTimes(query) : { from: picked, to: picked + STEP_SECONDS[answer?.resolution ?? 'minute'] };
  const choice: CheckChoice = { verdict: query['verdict'] ?? '', source: query['source'] ?? '', span };
  const isChosen = choice.verdict !== '' || choice.source !== '' || span !== null;
  const newest = useChecks(id, NEWEST, refreshMs);
  const chosen = useChecks(id, isChosen ? choice : null, refreshMs);
  const status = row?.status;
  const polls = useRef<ReturnType<typeof setTimeout>[]>([]);
  useEffect(() => () => polls.current.forEach(clearTimeout), []);
  const pollNewest = () => {
    polls.current.forEach(clearTimeout);
    polls.current = POLLS_AFTER_MS.map((ms) =>
      setTimeout(() => void Promise.all([newest.refresh(), locations.reload()]), ms),
    );
  };
  const isOverdue = row?.enabled === 1 && locations.value.value?.overdue === true;
  useTitle(row === null ? 'Monitor' : `${isOverdue ? 'Overdue' : STATUSES[row.status].label} · ${row.name}`);
  useEffect(() => {
    // The results that changed the status are stored by now.
    if (status !== undefined && newest.checks.peek() !== null) void newest.refresh();
  }, [status]);
  const newestAt = newest.checks.value?.[0]?.at;
  useEffect(() => {
    // A ping changes the next expected one, which no event announces.
    if (isBeat && newestAt !== undefined) void detail.reload();
  }, [isBeat, newestAt]);
  if (isDeleted) return <Gone />;
  if (row === null || whole === null)
    return <Missing error={detail.error.value} onRetry={() => void detail.reload()} />;
  // The channels' warning would move the content below it.
  if (channels.isLoading.value) return <PageSkeleton />;
  // The row from the stream is newer than the loaded details; it has no `muted_until` once a mute has ended.
  const { muted_until: _, ...details } = whole;
  const monitor = { ...details, ...row, ...(isBeat && { next_expected: whole.next_expected ?? null }) };
  // A draft was never checked and has nothing to show.
  const isDraft = monitor.target === '' && monitor.type !== 'heartbeat';
  const words = wordsOf(
    answer?.shown ?? shown,
    { now: answer?.to ?? clock.value, createdAt: monitor.created_at },
    { moment: formatShort, duration: formatDuration },
  );
  const list = incidents.value.value;
  return (
    <div class="w-full max-w-5xl 2xl:max-w-7xl px-4 pb-24 pt-4 md:px-8 md:pb-16 md:pt-6">
      <a
        href={PATHS.monitors}
        class="-ml-1 mb-2 inline-flex items-center gap-0.5 rounded text-[0.8125rem] text-soft hover:text-ink"
      >
        <Icon name="back" class="size-4" />
        Monitors
      </a>
      {/* Without a connection the notice above the page explains it. */}
      {liveState.value !== 'away' && <Outdated load={[detail, incidents, stats, uptime, locations]} />}
      <MonitorStatus
        monitor={monitor}
        incident={openIncidents.value.get(id) ?? null}
        before={list === null ? undefined : (list.find((incident) => incident.status === 'resolved') ?? null)}
        checks={newest.checks.value}
        locations={locations.value.value?.locations ?? null}
        isOverdue={isOverdue}
        onAcknowledged={() => void Promise.all([incidents.reload(), loadAll()])}
      >
        <InMaintenance maintenance={monitor.maintenance} />
        <QuietUntil what="Muted" icon="mute" until={monitor.muted_until} class="" />
      </MonitorStatus>
      <div class="mb-6 mt-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-2.5">
        <Target target={monitor.target} type={monitor.type} />
        <div class="flex flex-wrap gap-2 print:hidden">
          <Actions monitor={monitor} channels={channels.value.value ?? []} onRequested={pollNewest} />
        </div>
      </div>
      {monitor.enabled === 1 && <UnnotifiedMonitor monitor={monitor} channels={channels.value.value} />}
      <Special detail={monitor} checks={newest.checks.value} />
      {!isDraft && (
        <>
          <Response
            monitor={monitor}
            stats={stats}
            before={before}
            incidents={list ?? []}
            shown={shown}
            view={view}
            picked={picked}
          />
          {hasLocations(monitor) && (
            <Locations
              detail={monitor}
              load={locations}
              checks={newest.checks.value ?? []}
              sources={answer?.sources ?? []}
              words={words}
            />
          )}
          <Uptime monitor={monitor} uptime={uptime} />
          <Incidents monitor={monitor} incidents={incidents} />
          <Drills id={id} isPaused={monitor.enabled === 0} />
          <Checks
            monitor={monitor}
            list={isChosen ? chosen : newest}
            choice={choice}
            agents={agents.value.value ?? []}
            sourceIds={monitor.agent_sources}
          />
        </>
      )}
      <Dependencies id={id} version={`${monitor.updated_at} ${monitor.status}`} />
      <Settings
        detail={monitor}
        agents={agents.value.value ?? []}
        names={new Map(monitors.value?.map(({ id: other, name }) => [other, name]))}
      />
    </div>
  );
}

/** A notice of a monitor's maintenance, with its end and its window; the row may be older than its end. */
function InMaintenance({ maintenance }: { maintenance: Schemas['CurrentMaintenance'] }) {
  const id = maintenance?.window_id ?? null;
  const window = useLoad(
    async (signal) => (id === null ? null : await api.get('/maintenance-windows/{id}', { path: { id }, signal })),
    [id],
  );
  if (maintenance === null || maintenance.ends_at <= clock.value) return null;
  return (
    <p role="status" class="flex gap-2 text-sm">
      <Icon name="maintenance" class="mt-0.5 size-4 text-pending" />
      <span class="min-w-0 wrap-anywhere">
        <span class="font-medium">In maintenance until {formatUntil(maintenance.ends_at)}</span>
        {': '}
        <a href={`/maintenance/${maintenance.window_id}`} class="underline underline-offset-2">
          {window.value.value?.name ?? 'maintenance window'}
        </a>
      </span>
    </p>
  );
}

/** The target of a monitor, as a link if it is a web page. */
function Target({ target, type }: { target: string; type: string }) {
  const isLink = /^https?:\/\//.test(target);
  return (
    <p class="min-w-0 max-w-full text-sm text-soft max-md:w-full">
      <span class="flex min-w-0 items-center gap-2">
        <span class="shrink-0 rounded bg-sunken px-1.5 text-xs font-medium uppercase leading-5 tracking-wide">
          {type}
        </span>
        {isLink ? (
          <a
            href={target}
            target="_blank"
            rel="noreferrer"
            class="clipped font-mono text-[0.8125rem] underline-offset-2 hover:underline"
            title={target}
          >
            {target}
          </a>
        ) : (
          <span class="clipped font-mono text-[0.8125rem]" title={target}>
            {target}
          </span>
        )}
      </span>
    </p>
  );
}

function Missing({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (error === null) return <PageSkeleton />;
  if (error instanceof Failure && (error.status === 404 || error.status === 400)) return <Gone />;
  return <FailedLoad error={error} onRetry={onRetry} />;
}

function Gone() {
  return (
    <EmptyPage
      title="Monitor"
      back={{ label: 'Monitors', href: PATHS.monitors }}
      icon="monitors"
      heading="Monitor not found"
    >
      It was deleted, or the address is wrong. Its incidents are kept.
    </EmptyPage>
  );
}
