import type { ComponentChildren } from 'preact';
import type { Schemas } from '../../client/shapes.ts';
import { Fact } from '../../parts/facts.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { STATUSES } from '../../parts/statuses.ts';
import { formatDateTime, formatDuration, Moment, Since } from '../../parts/time.tsx';

type Incident = Schemas['Incident'];

const TINTS: Record<Incident['state'], string> = {
  down: 'bg-down-tint border-down/30',
  degraded: 'bg-degraded-tint border-degraded/30',
};
const ENDINGS: Record<NonNullable<Incident['resolution']>, string> = {
  recovered: 'Recovered',
  paused: 'Monitor paused',
  deleted: 'Monitor deleted',
};

/** The summary of an incident: its worst state, duration, reason, locations and acknowledgement. */
export function IncidentStatus({ incident }: { incident: Incident }) {
  const { state, status } = incident;
  const isOpen = status === 'open';
  const { label, text } = STATUSES[state];
  return (
    <div class={`mb-8 rounded-xl border p-4 md:p-5 ${isOpen ? TINTS[state] : 'border-line bg-surface'}`}>
      <p class={`flex items-center gap-2.5 text-lg font-semibold md:text-xl ${isOpen ? text : ''}`}>
        <StatusMark status={isOpen ? state : 'up'} silent class="size-4" />
        <span>
          {isOpen ? (
            <>
              {label} for <Since at={incident.started_at} />
            </>
          ) : (
            `Was ${label.toLowerCase()} for ${formatDuration(incident.duration_seconds)}`
          )}
        </span>
      </p>
      <p class="mt-1 break-words text-[0.9375rem]">{incident.reason}</p>
      <dl class="mt-4 grid grid-cols-2 gap-x-6 gap-y-3 text-sm md:grid-cols-4">
        <Fact name="Started">
          <time dateTime={new Date(incident.started_at * 1000).toISOString()}>
            {formatDateTime(incident.started_at)}
          </time>
          {incident.detected_at > incident.started_at && (
            <Small>confirmed after {formatDuration(incident.detected_at - incident.started_at)}</Small>
          )}
        </Fact>
        {incident.resolved_at !== null && (
          <Fact name="Resolved">
            <time dateTime={new Date(incident.resolved_at * 1000).toISOString()}>
              {formatDateTime(incident.resolved_at)}
            </time>
            {incident.resolution !== null && <Small>{ENDINGS[incident.resolution]}</Small>}
          </Fact>
        )}
        <Fact name={isOpen ? 'Failing from' : 'Failed from'}>
          {incident.sources_down.length === 0 ? 'No location' : incident.sources_down.join(', ')}
        </Fact>
        <Fact name="Acknowledged by">
          {incident.acknowledged_at === null ? (
            'Not acknowledged'
          ) : (
            <>
              {incident.acknowledged_by ?? 'A member'}
              <Small>
                <Moment at={incident.acknowledged_at} />
              </Small>
            </>
          )}
        </Fact>
      </dl>
    </div>
  );
}

function Small({ children }: { children: ComponentChildren }) {
  return <span class="block text-xs text-soft">{children}</span>;
}
