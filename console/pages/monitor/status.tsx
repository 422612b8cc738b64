import { api } from '../../client/api.ts';
import { canWrite } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { STATUSES } from '../../parts/statuses.ts';
import { clock, formatDuration, formatShort, Moment, Since } from '../../parts/time.tsx';
import { explain, hasLocations, headline, newestByLocation, sentence, whoSees, withoutCount } from './status-words.ts';

type Monitor = Schemas['Monitor'];
type Incident = Schemas['Incident'];
type Check = Schemas['Check'];
type MonitorStatusProps = {
  monitor: Monitor;
  /** The open incident; null if there is none. */
  incident: Incident | null;
  /** The newest resolved incident; null if there was none, undefined until it is known. */
  before: Incident | null | undefined;
  /** The newest checks; null until they are loaded. */
  checks: readonly Check[] | null;
  onAcknowledged: () => void;
};

const TINTS: Partial<Record<Monitor['status'], string>> = {
  down: 'border-down/40 bg-down-tint',
  degraded: 'border-degraded/40 bg-degraded-tint',
};

/** The status of the monitor: since when, why, and which locations see it. */
export function MonitorStatus({ monitor, incident, before, checks, onAcknowledged }: MonitorStatusProps) {
  const { status } = monitor;
  const isBad = status === 'down' || status === 'degraded';
  const newest = newestByLocation(checks ?? []);
  const isChecked = (checks?.length ?? 0) > 0;
  const observers = isBad && incident !== null && hasLocations(monitor) ? whoSees(incident, newest) : null;
  return (
    <div class={`rounded-xl border px-4 py-3.5 md:px-5 md:py-4 ${TINTS[status] ?? 'border-line bg-surface'}`}>
      <div class="flex gap-3">
        <StatusMark status={status} silent class="mt-1 size-5 md:mt-1.5" />
        <div class="min-w-0 flex-1">
          <h1
            class={
              'heading break-words text-xl leading-7 md:text-2xl md:leading-8 ' + (isBad ? STATUSES[status].text : '')
            }
          >
            {headline(monitor, isChecked)}
          </h1>
          <div class="mt-0.5 text-[0.9375rem]" aria-live="polite">
            {isBad && incident !== null ? (
              <p>
                <span class="font-medium">
                  For <Since at={incident.started_at} />
                </span>
                <span class="text-soft">, since {formatShort(incident.started_at)}:</span>{' '}
                {sentence(observers === null ? incident.reason : withoutCount(incident.reason))}
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
                {explain(monitor, checks?.[0]) ?? <Quiet monitor={monitor} before={before} />}
              </p>
            )}
          </div>
          <p class="text-sm text-soft">
            {observers !== null && `${observers}. `}
            <Freshness monitor={monitor} checks={checks} />
          </p>
          {isBad && incident !== null && <Response incident={incident} onAcknowledged={onAcknowledged} />}
        </div>
      </div>
    </div>
  );
}

/** Whether the start of the status is worth showing: not for up, nor before the first check. */
function isKnownSince({ status }: Monitor, isChecked: boolean): boolean {
  return status !== 'up' && (status !== 'pending' || isChecked);
}

/** How long there was no incident. */
function Quiet({ monitor, before }: { monitor: Monitor; before: Incident | null | undefined }) {
  if (before === undefined) return <span>&nbsp;</span>;
  if (before === null) {
    return (
      <>
        Up for <Since at={monitor.state_since} />. No incident since it was made,{' '}
        {formatDuration(clock.value - monitor.created_at)} ago.
      </>
    );
  }
  const { id, resolved_at: end, started_at: start, duration_seconds: seconds } = before;
  return (
    <>
      No incident for <Since at={end ?? start} />;{' '}
      <a href={`/incidents/${id}`} class="underline decoration-line-strong underline-offset-2 hover:text-ink">
        the last one lasted {formatDuration(seconds)}
      </a>
      .
    </>
  );
}

/** When the last check ran, and from how many locations. */
function Freshness({ monitor, checks }: { monitor: Monitor; checks: readonly Check[] | null }) {
  const last = checks?.[0];
  if (last === undefined) return checks === null ? <span>&nbsp;</span> : null;
  const locations = new Set(checks?.map(({ source }) => source.id)).size;
  return (
    <>
      {monitor.type === 'heartbeat' ? 'Last ping ' : 'Last checked '}
      <Moment at={Math.floor(last.at)} />
      {hasLocations(monitor) && locations > 1 && monitor.status !== 'paused' && ` from ${count(locations, 'location')}`}
      .
    </>
  );
}

/** The acknowledgement of the incident, and a link to it. */
function Response({ incident, onAcknowledged }: { incident: Incident; onAcknowledged: () => void }) {
  const action = useAction();
  const acknowledge = () =>
    action.run(async () => {
      await api.post('/incidents/{id}/acknowledge', { path: { id: incident.id } });
      onAcknowledged();
    });
  return (
    <div class="mt-2.5 flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
      {incident.acknowledged_at === null ? (
        canWrite() && (
          <Button size="small" busy={action.isBusy.value} icon="check" onClick={() => void acknowledge()}>
            I am on it
          </Button>
        )
      ) : (
        <span>
          {incident.acknowledged_by ?? 'A member'} is on it since <Moment at={incident.acknowledged_at} />.
        </span>
      )}
      <a
        href={`/incidents/${incident.id}`}
        class="inline-flex items-center gap-0.5 font-medium underline-offset-2 hover:underline"
      >
        The incident in full <Icon name="chevron" class="size-3.5" />
      </a>
    </div>
  );
}
