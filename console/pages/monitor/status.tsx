import type { ComponentChildren } from 'preact';
import { api, type Schemas } from '../../client/api.ts';
import { canWrite } from '../../client/session-state.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { useLoad } from '../../parts/load.tsx';
import { STATUSES } from '../../parts/monitors.ts';
import { Card, Section } from '../../parts/page.tsx';
import { MonitorMark, StatusMark } from '../../parts/status.tsx';
import { Moment, Since, clock, formatAgo, formatDuration, formatEvery, formatShort } from '../../parts/time.tsx';
import {
  NOT_COUNTED,
  explain,
  hasLocations,
  headline,
  lastPing,
  newestByLocation,
  sentence,
  whoSees,
  withDates,
  withoutCount,
} from './status-words.ts';

type Monitor = Schemas['Monitor'];
type Incident = Schemas['Incident'];
type Check = Schemas['Check'];
type Location = Schemas['MonitorLocations']['locations'][number];
type MonitorStatusProps = {
  monitor: Monitor;
  /** The open incident; null if there is none. */
  incident: Incident | null;
  /** The newest resolved incident; null if there was none, undefined until it is known. */
  before: Incident | null | undefined;
  /** The newest checks; null until they are loaded. */
  checks: readonly Check[] | null;
  /** Present state of the locations; null until they are loaded. */
  locations: readonly Location[] | null;
  /** Whether its last check is overdue. */
  isOverdue: boolean;
  onAcknowledged: () => void;
  /** Further notices, such as that the monitor is muted. */
  children: ComponentChildren;
};

const TINTS: Partial<Record<Monitor['status'], string>> = {
  down: 'border-down/40 bg-down-tint',
  degraded: 'border-degraded/40 bg-degraded-tint',
};

/** The status of the monitor: since when, why, and which locations see it. */
export function MonitorStatus(props: MonitorStatusProps) {
  const { monitor, incident, before, checks, locations, isOverdue, onAcknowledged } = props;
  const { status } = monitor;
  const isBad = status === 'down' || status === 'degraded';
  const isLost = (id: string | null) => locations?.some((one) => one.id === id && one.status === 'offline') ?? false;
  const counted = checks?.filter(({ source }) => !isLost(source.id)) ?? null;
  const newest = newestByLocation(counted ?? []);
  const isChecked = (checks?.length ?? 0) > 0;
  const title = headline(monitor, { isChecked, isOverdue });
  const observers = isBad && incident !== null && hasLocations(monitor) ? whoSees(incident, newest) : null;
  return (
    <div class={`rounded-xl border px-4 py-3.5 md:px-5 md:py-4 ${TINTS[status] ?? 'border-line bg-surface'}`}>
      <div class="flex gap-3">
        <MonitorMark status={status} isOverdue={isOverdue} silent class="mt-1 size-5 md:mt-1.5" />
        <div class="min-w-0 flex-1">
          <h1
            class={
              'heading break-words text-xl leading-7 md:text-2xl md:leading-8 ' + (isBad ? STATUSES[status].text : '')
            }
          >
            {title}
          </h1>
          {/* Without the durations below it, which change every few seconds. */}
          <p class="sr-only" role="status">
            {title}
            {isBad && incident !== null && `: ${sentence(causeOf(monitor, incident, observers !== null))}`}
          </p>
          <div class="mt-0.5 text-[0.9375rem]">
            {isBad && incident !== null ? (
              <p>
                <span class="font-medium">
                  For <Since at={incident.started_at} />
                </span>
                <span class="text-soft">, since {formatShort(incident.started_at)}:</span>{' '}
                {sentence(causeOf(monitor, incident, observers !== null))}
              </p>
            ) : (
              <p class="text-soft">
                {isKnownSince(monitor, isChecked) && (
                  <>
                    <span class="font-medium text-ink">
                      For <Since at={monitor.state_since} />
                    </span>
                    , since {formatShort(monitor.state_since)}.{' '}
                  </>
                )}
                {explain(monitor, { newest: checks?.[0], isOverdue }) ?? <Quiet monitor={monitor} before={before} />}
              </p>
            )}
          </div>
          <p class="text-sm text-soft">
            {observers !== null && `${observers}. `}
            <Freshness monitor={monitor} checks={isOverdue ? checks : counted} isOverdue={isOverdue} />
            {status !== 'paused' && locations !== null && <Missing locations={locations} />}
          </p>
          <div class="mt-1.5 flex flex-wrap gap-x-5 gap-y-1 empty:hidden">{props.children}</div>
          {isBad && incident !== null && <Response incident={incident} onAcknowledged={onAcknowledged} />}
        </div>
      </div>
    </div>
  );
}

/** Returns the reason of an open incident, without parts that the surrounding lines repeat. */
function causeOf({ type }: Monitor, { reason }: Incident, namesLocations: boolean): string {
  if (type === 'domain') return withDates(reason);
  return namesLocations ? withoutCount(reason) : reason;
}

/** Reports whether the start of the status is worth showing: not for up, nor before the first check. */
function isKnownSince({ status }: Monitor, isChecked: boolean): boolean {
  return status !== 'up' && (status !== 'pending' || isChecked);
}

/** The time since the last incident. */
function Quiet({ monitor, before }: { monitor: Monitor; before: Incident | null | undefined }) {
  if (before === undefined) return <span>&nbsp;</span>;
  if (before === null) {
    return (
      <>
        Up for <Since at={monitor.state_since} />. No incidents since it was created,{' '}
        {formatAgo(monitor.created_at, clock.value)}.
      </>
    );
  }
  const { id, resolved_at: end, started_at: start, duration_seconds: seconds } = before;
  return (
    <>
      No incidents for <Since at={end ?? start} />;{' '}
      <a href={`/incidents/${id}`} class="underline decoration-line-strong underline-offset-2 hover:text-ink">
        the last one lasted {formatDuration(seconds)}
      </a>
      .
    </>
  );
}

/** Number of intervals after which a result no longer belongs to the last round of checks. */
const ROUND_INTERVALS = 2;

/** The time of the last check, and the number of locations in the last round of checks. */
function Freshness({
  monitor,
  checks,
  isOverdue,
}: {
  monitor: Monitor;
  checks: readonly Check[] | null;
  isOverdue: boolean;
}) {
  if (checks === null) return <span>&nbsp;</span>;
  const isBeat = monitor.type === 'heartbeat';
  const last = isBeat ? lastPing(checks) : checks[0];
  if (isOverdue)
    return (
      <span class="font-medium text-degraded">
        <Icon name="warning" class="mr-1 inline-block size-4 align-text-bottom" />
        {last === undefined ? 'No check has run' : `No checks since ${formatShort(last.at)}`}: overdue, expected{' '}
        {formatEvery(monitor.interval_seconds)}.
      </span>
    );
  if (last === undefined) return isBeat && checks.length > 0 ? <>Waiting for the first ping.</> : null;
  const since = clock.value - ROUND_INTERVALS * monitor.interval_seconds;
  const locations = new Set(checks.filter(({ at }) => at >= since).map(({ source }) => source.id)).size;
  return (
    <>
      {isBeat ? 'Last ping ' : 'Last check '}
      <Moment at={Math.floor(last.at)} />
      {hasLocations(monitor) && locations > 1 && monitor.status !== 'paused' && ` from ${count(locations, 'location')}`}
      .
    </>
  );
}

/** Names the locations that counted before and do not count now. */
function Missing({ locations }: { locations: readonly Location[] }) {
  const missing = locations.filter(({ status }) => status === 'offline' || status === 'unable');
  return (
    <>
      {missing.map(({ id, name, status, last_seen_at: seen }) => (
        <span key={id} class="font-medium text-degraded">
          {' '}
          {name}: {NOT_COUNTED[status === 'offline' ? 'offline' : 'unable']}
          {status === 'offline' && seen !== null && ` since ${formatShort(seen)}`}, not counted.
        </span>
      ))}
    </>
  );
}

/** The acknowledgement of the incident, and a link to it. */
function Response({ incident, onAcknowledged }: { incident: Incident; onAcknowledged: () => void }) {
  const action = useAction();
  const acknowledge = () =>
    action.run(async () => {
      await api.post('/incidents/{id}/acknowledge', { path: { id: incident.id } });
      toast('Acknowledged. Your team can see it.');
      onAcknowledged();
    });
  return (
    <div class="mt-2.5 flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
      {incident.acknowledged_at === null ? (
        canWrite() && (
          <Button
            tone="primary"
            size="small"
            busy={action.isBusy.value}
            icon="check"
            onClick={() => void acknowledge()}
          >
            Acknowledge
          </Button>
        )
      ) : (
        <span>
          Acknowledged by {incident.acknowledged_by ?? 'a member'} <Moment at={incident.acknowledged_at} />.
        </span>
      )}
      <a
        href={`/incidents/${incident.id}`}
        class="inline-flex items-center gap-0.5 font-medium underline-offset-2 hover:underline"
      >
        View incident <Icon name="chevron" class="size-3.5" />
      </a>
    </div>
  );
}

type Related = Schemas['RelatedMonitor'];

/** The parents and children of a monitor; nothing if there are none. `version` changes with its settings and status. */
export function Dependencies({ id, version }: { id: string; version: string }) {
  const load = useLoad((signal) => api.get('/monitors/{id}/dependencies', { path: { id }, signal }), [id, version]);
  const { value } = load.value;
  if (value === null || value.depends_on.length + value.dependents.length === 0) return null;
  const { depends_on: parents, dependents, dependents_total: total } = value;
  return (
    <Section title="Parents and children">
      <Card class="grid gap-4 px-4 py-3 text-sm md:grid-cols-2 md:px-5">
        {parents.length > 0 && <RelatedList title="Parents" monitors={parents} more={0} />}
        {dependents.length > 0 && (
          <RelatedList title="Children" monitors={dependents} more={total - dependents.length} />
        )}
      </Card>
    </Section>
  );
}

function RelatedList({ title, monitors, more }: { title: string; monitors: readonly Related[]; more: number }) {
  return (
    <div class="min-w-0">
      <h3 class="text-soft">{title}</h3>
      <ul class="mt-1">
        {monitors.map(({ id, name, status, mode }) => (
          <li key={id} class="flex items-center gap-2.5 py-1">
            <StatusMark status={status} />
            <a href={`/monitors/${id}`} class="clipped min-w-0 underline underline-offset-2">
              {name}
            </a>
            <span class="ml-auto shrink-0 text-xs text-soft">{mode === 'hold' ? 'holds alerts' : 'mentioned'}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="mt-1 text-soft">{more} more</p>}
    </div>
  );
}
