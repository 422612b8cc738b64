import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Failure, sentenceOf, serviceMs } from '../client/answer.ts';
import { request, type Schemas } from '../client/api.ts';
import { ButtonLink } from '../parts/button.tsx';
import { formatNumber } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { FailedLoad, Placeholder } from '../parts/load.tsx';
import { STATUSES, STATUS_ORDER, type Status } from '../parts/monitors.ts';
import { Empty, useTitle } from '../parts/page.tsx';
import { MonitorMark, OverdueWarning, Unchecked } from '../parts/status.tsx';
import { Since, TimesIn, clock, formatTime, formatUntil } from '../parts/time.tsx';
import { PATHS } from '../paths.ts';
import { summarize } from './overview/selection.ts';

type Wall = Schemas['Wall'];
type WallMonitor = Schemas['WallMonitor'];

/** Interval of reloading the wall, and the timeout of a response, in milliseconds. */
const READ_EVERY_MS = 10_000;
const PATIENCE_MS = 9000;

/** Most monitors that have large tiles, legible from afar. */
const MAX_ROOMY = 24;

/** The last response with its time, and the error of the last read, if it failed. */
type Shown = { wall: Wall | null; atMs: number; error: unknown };

/**
 * The wallboard: the status of all monitors, for a screen without a keyboard. Its link carries the token after the #;
 * without one it is read with the session.
 */
export function WallPage() {
  const shown = useWall();
  const { wall, error, atMs } = shown;
  const title = wall === null ? 'Wallboard' : summarize(wall.counts, wall.overdue_monitors);
  useTitle(title);
  useFavicon(wall === null || error !== null ? null : worstOf(wall));
  if (isRefusal(error)) return <Refused />;
  if (wall === null)
    return error === null ? (
      <Placeholder class="h-full" />
    ) : (
      <FailedLoad error={error} onRetry={() => window.location.reload()} />
    );
  const rest = wall.total - wall.monitors.length;
  const isRoomy = wall.monitors.length <= MAX_ROOMY;
  return (
    <main tabIndex={0} class="h-full overflow-y-auto focus-visible:-outline-offset-2 px-4 py-4 md:px-8 md:py-6">
      {error !== null && (
        <div role="alert" class="mb-4 flex items-center gap-3 rounded-md bg-down-tint px-4 py-2 text-sm text-down">
          <Icon name="warning" />
          <span>
            {sentenceOf(error)}. Last updated {formatTime(atMs)}.
          </span>
        </div>
      )}
      <div class="mb-4 flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1 md:mb-6">
        <h1 class="heading text-2xl md:text-4xl">{title}</h1>
        <span class="text-sm text-soft">
          Updated {formatTime(atMs)} · <TimesIn />
        </span>
      </div>
      <div class="mb-4 empty:hidden md:mb-6">
        <OverdueWarning overdue={wall.overdue_monitors} since={wall.no_checks_since} />
      </div>
      <ul
        aria-label="Monitors"
        class={
          'grid gap-2 md:gap-3 ' +
          (isRoomy
            ? 'grid-cols-[repeat(auto-fill,minmax(min(100%,20rem),1fr))] text-xl '
            : 'grid-cols-[repeat(auto-fill,minmax(min(100%,15rem),1fr))] ') +
          (error === null ? '' : 'opacity-60')
        }
      >
        {wall.monitors.map((monitor, index) => (
          // Names may repeat, and the wall has no other key.
          <Tile key={index} monitor={monitor} />
        ))}
      </ul>
      {rest > 0 && <p class="mt-3 text-sm text-soft">{formatNumber(rest)} more</p>}
    </main>
  );
}

const TILES: Record<Status, string> = {
  down: 'border-down/50 bg-down-tint',
  degraded: 'border-degraded/50 bg-degraded-tint',
  pending: 'border-line bg-surface',
  up: 'border-line bg-surface',
  paused: 'border-line bg-surface',
};

function Tile({ monitor }: { monitor: WallMonitor }) {
  const { name, status, state_since: since, last_check_at: lastCheckAt, maintenance_until: until = null } = monitor;
  const isInMaintenance = until !== null && until > clock.value;
  const { label, text } = STATUSES[status];
  const isOverdue = monitor.overdue === true;
  const isUnknown = isOverdue && status === 'up';
  return (
    <li
      class={
        'relative flex min-w-0 items-center gap-3 overflow-clip rounded-lg border px-3.5 py-3 ' +
        `${isUnknown ? 'border-dashed border-degraded/60 bg-surface' : TILES[status]}`
      }
    >
      {isInMaintenance && <span aria-hidden="true" class="hatched absolute inset-y-0 left-0 w-1.5" />}
      <MonitorMark status={status} isOverdue={isOverdue} silent class="size-5" />
      <span class="min-w-0">
        <span class="clipped block font-medium">{name}</span>
        <span class={`clipped block text-[0.8em] ${isUnknown ? 'text-degraded' : text}`}>
          {monitor.draft === true && status === 'pending'
            ? 'Draft'
            : isUnknown || (
                <>
                  {label} for <Since at={since} />
                </>
              )}
          {isOverdue && !isUnknown && ' · '}
          {isOverdue && <Unchecked lastCheckAt={lastCheckAt} />}
        </span>
        {isInMaintenance && (
          <span class="clipped block text-[0.8em] text-pending">
            <Icon name="maintenance" class="mr-1 inline size-[1em] align-[-0.125em]" />
            Maintenance until {formatUntil(until)}
          </span>
        )}
      </span>
    </li>
  );
}

function Refused() {
  const hasToken = window.location.hash !== '';
  return (
    <main class="h-full">
      <h1 class="sr-only">Wallboard</h1>
      {hasToken ? <InvalidLink /> : <SignedOut />}
    </main>
  );
}

/** Shown when the wall's session has ended. */
function SignedOut() {
  return (
    <Empty
      icon="wall"
      title="Sign in to see the wallboard"
      action={<ButtonLink href={`${PATHS.signIn}?to=wall`}>Sign in</ButtonLink>}
    >
      Or use a link from an account owner.
    </Empty>
  );
}

function InvalidLink() {
  return (
    <Empty icon="wall" title="This link is not valid">
      It was revoked, has expired or is incomplete. Ask an owner of the account for a new one.
    </Empty>
  );
}

/** Reads the wall every ten seconds. */
function useWall(): Shown {
  const shown = useSignal<Shown>({ wall: null, atMs: 0, error: null });
  useEffect(() => {
    const ending = new AbortController();
    const token = window.location.hash.slice(1);
    const read = async () => {
      try {
        const wall = await request<Wall>('GET', '/wall', {
          answersOwn401: true,
          signal: AbortSignal.any([ending.signal, AbortSignal.timeout(PATIENCE_MS)]),
          ...(token !== '' && { token }),
        });
        shown.value = { wall, atMs: serviceMs(), error: null };
      } catch (error) {
        if (!ending.signal.aborted) shown.value = { ...shown.peek(), error };
      }
    };
    void read();
    const timer = setInterval(() => void read(), READ_EVERY_MS);
    return () => {
      ending.abort();
      clearInterval(timer);
    };
  }, []);
  return shown.value;
}

/** Reports whether the service rejects the link, rather than not responding. */
function isRefusal(error: unknown): boolean {
  return error instanceof Failure && (error.status === 401 || error.status === 403);
}

/** Returns the worst status of a wall. That of overdue monitors is unknown: they count as pending at best. */
function worstOf({ counts, overdue_monitors: overdue = 0 }: Wall): Status | null {
  return STATUS_ORDER.find((status) => counts[status] > 0 || (status === 'pending' && overdue > 0)) ?? null;
}

/** Shows a status as the icon of the browser's tab; null = unknown. */
function useFavicon(status: Status | null): void {
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (icon === null) return;
    const { sign, icon: color } = STATUSES[status ?? 'pending'];
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">' +
      `<path fill="${color}" fill-rule="evenodd" d="${sign}"/></svg>`;
    icon.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  }, [status]);
}
