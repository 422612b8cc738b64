import { useSignal } from '@preact/signals';
import { DAY_SECONDS } from '../../../core/time.ts';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { monitors, usePoll, useReload } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { LengthDialog, confirm } from '../../parts/dialog.tsx';
import { Outdated, useLoad, type Load } from '../../parts/load.tsx';
import { ObjectPage } from '../../parts/object-page.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Badge, QuietUntil, StatusMark } from '../../parts/status.tsx';
import { LongText, Table } from '../../parts/table.tsx';
import { clock, formatAgo, formatDateTime, formatExact, formatLatency, formatUntil } from '../../parts/time.tsx';
import { PATHS, type PageProps } from '../../paths.ts';
import { TimingBar, hasTimings, sumTimings } from '../../plots/timing-bar.tsx';
import { useShortcut } from '../../shell/keys.tsx';
import { EventOf, OutcomeBadge, isUnderWay } from '../channels/words.tsx';
import { AnswerEvidence } from '../monitor/check-details.tsx';
import { IncidentStatus, Notes, Timeline } from './timeline.tsx';

/** Time for which deliveries are stored, in seconds. */
const KEPT_SECONDS = 30 * DAY_SECONDS;

/** The deliveries of an incident; each links to the log of its channel. */
function IncidentDeliveries({
  deliveries,
  startedAt,
}: {
  deliveries: readonly Schemas['IncidentDelivery'][];
  startedAt: number;
}) {
  if (deliveries.length === 0) {
    const isForgotten = clock.value - startedAt > KEPT_SECONDS;
    if (isForgotten) return <p class="text-sm text-soft">Deliveries are stored for 30 days.</p>;
    return (
      <p class="text-sm text-soft">
        No alerts were sent.{' '}
        <a href={PATHS.channels} class="text-accent underline underline-offset-2">
          View channels
        </a>
      </p>
    );
  }
  return (
    <Table
      caption="Notifications"
      rows={deliveries}
      keyOf={({ id }) => id}
      hrefOf={({ channel_id: channel, id }) => `/channels/${channel}?delivery=${id}`}
      columns={[
        { head: 'Channel', cell: ({ channel_name: name }) => <LongText text={name} /> },
        { head: 'Event', cell: ({ event, created_at: at }) => <EventOf event={event} at={at} exact /> },
        {
          head: 'Outcome',
          cell: (delivery) => <OutcomeBadge delivery={delivery} />,
        },
        {
          head: 'When',
          cell: ({ created_at: at }) => <time title={formatAgo(at, clock.value)}>{formatExact(at)}</time>,
          align: 'right',
          wideOnly: true,
          class: 'whitespace-nowrap text-soft',
        },
      ]}
    />
  );
}

type IncidentDetail = Schemas['IncidentDetail'];

/** The interval of reloads in milliseconds while a delivery is under way, and while one waits. */
const DELIVERY_POLL_MS = { busy: 3000, quiet: 15_000 } as const;
const BACK = { label: 'Incidents', href: PATHS.incidents };

/** The page of one incident: status, timeline, evidence, deliveries and notes. */
export function IncidentPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad((signal) => api.get('/incidents/{id}', { path: { id }, signal }), [id]);
  useReload(load, ['incident'], (changed) => changed === id);
  const deliveries = load.value.value?.deliveries ?? [];
  const isPending = deliveries.some(({ outcome }) => outcome === 'pending');
  usePoll(load, isPending, deliveries.some(isUnderWay) ? DELIVERY_POLL_MS.busy : DELIVERY_POLL_MS.quiet);
  return (
    <ObjectPage
      load={load}
      title="Incident"
      icon="incidents"
      back={BACK}
      missing="Check the address. It may belong to another account."
    >
      {(incident) => <Shown incident={incident} load={load} />}
    </ObjectPage>
  );
}

function Shown({ incident, load }: { incident: IncidentDetail; load: Load<IncidentDetail> }) {
  const { reload } = load;
  const isCut = (list: IncidentDetail['truncated'][number]) => incident.truncated.includes(list);
  return (
    <Page title={incident.monitor_name} back={BACK} actions={<Actions incident={incident} reload={reload} />}>
      <Outdated load={load} />
      <Quiet incident={incident} />
      <IncidentStatus incident={incident} />
      <div class="grid grid-cols-1 gap-x-8 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div class="min-w-0">
          <Section title="Timeline">
            <Timeline incident={incident} />
            {isCut('timeline') && <Cut />}
          </Section>
          <Section title="Evidence" lead={incident.evidence.length > 0 ? 'First failure per location' : undefined}>
            <Evidence evidence={incident.evidence} />
            {isCut('evidence') && <Cut />}
          </Section>
          <Section title="Notifications">
            <IncidentDeliveries deliveries={incident.deliveries} startedAt={incident.started_at} />
            {isCut('deliveries') && <Cut />}
          </Section>
        </div>
        <Section title="Notes">
          <Notes incidentId={incident.id} notes={incident.notes} onChanged={reload} />
        </Section>
      </div>
    </Page>
  );
}

/** Notices that alerts of the incident wait: its monitor is in maintenance or muted, or the incident is snoozed. */
function Quiet({ incident }: { incident: IncidentDetail }) {
  if (incident.status === 'resolved') return null;
  const monitor = monitors.value?.find(({ id }) => id === incident.monitor_id);
  return (
    <>
      <QuietUntil what="Monitor in maintenance" icon="maintenance" until={monitor?.maintenance?.ends_at} />
      <QuietUntil what="Monitor muted" icon="mute" until={monitor?.muted_until} />
      {/* Users who may end a snooze see it on their button. */}
      {!canWrite() && <QuietUntil what="Snoozed" icon="snooze" until={incident.snoozed_until} />}
    </>
  );
}

function Actions({ incident, reload }: { incident: IncidentDetail; reload: () => Promise<void> }) {
  const action = useAction();
  const isBusy = action.isBusy.value;
  const isAcknowledged = incident.acknowledged_at !== null;
  const isResolved = incident.status === 'resolved';
  // An acknowledged incident that is over cannot be changed.
  const canChange = canWrite() && !(isResolved && isAcknowledged);
  const change = () =>
    action.run(async () => {
      const options = { path: { id: incident.id } };
      await (isAcknowledged
        ? api.delete('/incidents/{id}/acknowledge', options)
        : api.post('/incidents/{id}/acknowledge', options));
      await reload();
      toast(isAcknowledged ? 'Unacknowledged' : 'Acknowledged. Your team can see it.');
    });
  const isSnoozing = useSignal(false);
  const { snoozed_until: snoozedUntil = 0 } = incident;
  const isSnoozed = snoozedUntil > clock.value;
  const snooze = async (seconds: number) => {
    const until = serviceSeconds() + seconds;
    await api.post('/incidents/{id}/snooze', { path: { id: incident.id }, body: { until } });
    toast(`Snoozed until ${formatUntil(until)}`);
    void reload();
  };
  const unsnooze = () =>
    action.run(async () => {
      await api.delete('/incidents/{id}/snooze', { path: { id: incident.id } });
      toast('Snooze ended');
      await reload();
    });
  // Until the monitors are loaded the monitor is assumed to exist: a link added later would push the page down.
  const isListed = monitors.value?.some(({ id }) => id === incident.monitor_id) ?? true;
  const isMonitorThere = isListed && incident.resolution !== 'deleted';
  // An accidental key press must not announce that someone handles the incident.
  const changeByKey = async () => {
    const does = isAcknowledged ? 'Unacknowledge' : 'Acknowledge';
    const text = isAcknowledged
      ? 'Your team will see that it’s no longer acknowledged.'
      : 'Your team will see that you’re on it. Reminders set to stop on acknowledgement will stop.';
    if (await confirm({ title: `${does} this incident?`, text, action: does, tone: 'primary' })) await change();
  };
  useShortcut(
    'a',
    isAcknowledged ? 'Unacknowledge' : 'Acknowledge',
    canChange && !isBusy ? () => void changeByKey() : null,
  );
  return (
    <>
      {incident.trace_url !== undefined && (
        <ButtonLink href={incident.trace_url} target="_blank" rel="noreferrer" icon="external">
          View trace
        </ButtonLink>
      )}
      {isMonitorThere && <ButtonLink href={`/monitors/${incident.monitor_id}`}>View monitor</ButtonLink>}
      {canWrite() && !isResolved && (
        <Button
          icon="snooze"
          disabled={isBusy}
          onClick={() => (isSnoozed ? void unsnooze() : (isSnoozing.value = true))}
        >
          {isSnoozed ? `Snoozed until ${formatUntil(snoozedUntil)}: end` : 'Snooze'}
        </Button>
      )}
      {isSnoozing.value && (
        <LengthDialog
          title="Snooze this incident"
          action="Snooze"
          hint={() => 'Reminders and delayed alerts wait until then.'}
          lengths={[900, 3600, 14_400, 43_200, 86_400]}
          initial={3600}
          onSubmit={snooze}
          onClose={() => (isSnoozing.value = false)}
        />
      )}
      {canChange && (
        <Button
          tone={isAcknowledged || isResolved ? 'plain' : 'primary'}
          icon={isAcknowledged ? 'close' : 'check'}
          busy={isBusy}
          onClick={() => void change()}
        >
          {isAcknowledged ? 'Unacknowledge' : 'Acknowledge'}
        </Button>
      )}
    </>
  );
}

function Cut() {
  return <p class="mt-2 text-[0.8125rem] text-soft">Only the first 500 are shown.</p>;
}

type Entry = Schemas['IncidentEvidence'];

/** The evidence of each location at its first failure. */
function Evidence({ evidence }: { evidence: readonly Entry[] }) {
  if (evidence.length === 0) return <p class="text-sm text-soft">No evidence was stored.</p>;
  return (
    <div class="flex flex-col gap-3">
      {evidence.map((entry) => (
        <SourceEvidence key={`${entry.source.id} ${entry.at} ${entry.verdict}`} entry={entry} />
      ))}
    </div>
  );
}

function SourceEvidence({ entry }: { entry: Entry }) {
  const {
    source,
    verdict,
    reason,
    at,
    latency_ms: latency,
    phases,
    answer,
    trace_id: traceId,
    trace_url: traceUrl,
  } = entry;
  const status = answer?.status ?? entry.http_status;
  return (
    <article class="rounded-xl border border-line bg-surface p-4">
      <header class="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 class="flex min-w-0 items-center gap-2 text-sm font-semibold">
          <StatusMark status={verdict} class="size-3" />
          <span class="min-w-0">{source.name}</span>
        </h3>
        {status !== null && <Badge tone={status >= 400 ? 'bad' : 'plain'}>{`HTTP ${status}`}</Badge>}
        <time class="ml-auto text-xs text-soft" dateTime={new Date(at * 1000).toISOString()}>
          {formatDateTime(at)}
        </time>
      </header>
      {reason !== null && <p class="mt-1.5 break-words text-sm">{reason}</p>}
      {hasTimings(phases) && (
        <div class="mt-3">
          <TimingBar timings={phases} fullMs={sumTimings(phases)} label="Timings of this check" />
        </div>
      )}
      {!hasTimings(phases) && latency !== null && (
        <p class="mt-1.5 text-sm text-soft">After {formatLatency(latency)}</p>
      )}
      {answer !== null && (
        <div class="mt-3">
          <AnswerEvidence answer={answer} />
        </div>
      )}
      {traceId !== undefined && (
        <p class="mt-2 break-all text-[0.8125rem] text-soft">
          Trace{' '}
          {traceUrl === undefined ? (
            <code>{traceId}</code>
          ) : (
            <a href={traceUrl} target="_blank" rel="noreferrer" class="text-accent underline underline-offset-2">
              {traceId}
            </a>
          )}
        </p>
      )}
    </article>
  );
}
