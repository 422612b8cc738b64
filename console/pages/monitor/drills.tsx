import { useSignal } from '@preact/signals';
import { sentenceOf } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { usePoll } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { toast, useAction, useFormAction } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Loaded, useLoad, type Load } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { formatLatency, formatShort } from '../../parts/time.tsx';
import { MonitorDialog } from '../channels/monitor-choice.tsx';
import { OutcomeBadge, isActive, isNotified, type Channel } from '../channels/words.tsx';

type Drill = Schemas['Drill'];
type Drills = Schemas['DrillList'];
type Delivery = Schemas['DrillDelivery'];

/** Interval of polling a drill in progress, or one whose deliveries are under way, in milliseconds. */
const DRILL_POLL_MS = 1000;

/** Explanation of a drill. */
const DRILL_TEXT =
  'Each location simulates a failure, and the monitor’s channels get an alert marked as a drill. It ends after 30 ' +
  'seconds, and doesn’t count toward uptime.';

const STATUSES: Record<Drill['status'], { label: string; tone: 'plain' | 'good' | 'bad' }> = {
  failing: { label: 'Waiting for locations', tone: 'plain' },
  alerted: { label: 'In progress', tone: 'plain' },
  ended: { label: 'Ended', tone: 'good' },
  failed: { label: 'No alert sent', tone: 'bad' },
};

/** Why a channel was skipped. */
const SKIPS: Record<Schemas['DrillSkip']['reason'], string> = {
  rules: 'no rule matches',
  quiet_hours: 'quiet hours',
  mute: 'the monitor is muted',
  maintenance: 'maintenance',
  outage: 'the monitor is really failing, so no end of the drill was sent',
};

/** The drills of a monitor: a button to start one, the stopwatch of the newest, and those before it. */
export function Drills({ id, isPaused }: { id: string; isPaused: boolean }) {
  const load = useLoad((signal) => api.get('/monitors/{id}/drills', { path: { id }, signal }), [id]);
  usePoll(load, isUnderWay(load.value.value?.drills[0]), DRILL_POLL_MS);
  return (
    <Section title="Drills" actions={canWrite() && !isPaused && <StartButton id={id} load={load} />}>
      <Loaded load={load} height="h-20">
        {({ drills: [newest, ...earlier], next_at: next }) => (
          <div class="flex flex-col gap-4">
            {newest === undefined ? (
              <p class="rounded-xl border border-line bg-surface px-4 py-5 text-sm text-soft">
                No drills yet. A drill shows whether and how fast alerts arrive.
              </p>
            ) : (
              <Stopwatch drill={newest} />
            )}
            {next !== null && <p class="text-sm text-soft">Next monthly drill: {formatShort(next)}</p>}
            {earlier.length > 0 && (
              <Table
                caption="Earlier drills, newest first"
                columns={EARLIER}
                rows={earlier}
                keyOf={(drill) => drill.id}
              />
            )}
          </div>
        )}
      </Loaded>
    </Section>
  );
}

function StartButton({ id, load }: { id: string; load: Load<Drills> }) {
  const { isBusy, run } = useAction();
  const start = async () => {
    if (!(await confirm({ title: 'Start a drill?', text: DRILL_TEXT, action: 'Start drill', tone: 'primary' }))) return;
    await run(async () => {
      await api.post('/monitors/{id}/drill', { path: { id } });
      toast('Drill started');
      await load.reload();
    });
  };
  return (
    <Button size="small" icon="play" busy={isBusy.value} onClick={() => void start()}>
      Start a drill
    </Button>
  );
}

/** Reports whether a drill or its deliveries are in progress. */
function isUnderWay(drill: Drill | undefined): boolean {
  return (
    drill !== undefined && (drill.ended_at === null || drill.deliveries.some(({ outcome }) => outcome === 'pending'))
  );
}

function Stopwatch({ drill }: { drill: Drill }) {
  const { status, started_at: startedAt, decided_ms: decidedMs, locations, deliveries, skipped } = drill;
  const silent = locations.filter(({ answered_ms: answeredMs }) => answeredMs === null).map(({ name }) => name);
  return (
    <div class="flex flex-col gap-2">
      <p class="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm" role="status">
        <Badge tone={STATUSES[status].tone}>{STATUSES[status].label}</Badge>
        <span>{formatShort(startedAt)}</span>
        {decidedMs !== null && (
          <span class="text-soft">decided {formatLatency(decidedMs)} after the first failing answer</span>
        )}
      </p>
      {silent.length > 0 && status !== 'failing' && <p class="text-sm">No response from {silent.join(', ')}</p>}
      {deliveries.length > 0 && (
        <Table
          caption="Deliveries of the newest drill, with the time since the first failing response"
          columns={DELIVERIES}
          rows={deliveries}
          keyOf={(delivery) => delivery.delivery_id}
          hrefOf={({ channel_id: channelId }) => `/channels/${channelId}`}
        />
      )}
      {skipped.map(({ channel_id: channelId, channel_name: name, event, reason }) => (
        <p key={`${channelId} ${event}`} class="text-sm text-soft">
          {name ?? 'A channel that was deleted'} was skipped: {SKIPS[reason]}
        </p>
      ))}
    </div>
  );
}

const DELIVERIES: readonly Column<Delivery>[] = [
  { head: 'Channel', cell: ({ channel_name: name }) => name },
  { head: 'Message', cell: ({ event }) => (event === 'monitor.up' ? 'End' : 'Alert') },
  { head: 'Outcome', cell: (delivery) => <OutcomeBadge delivery={delivery} /> },
  { head: 'Decided', align: 'right', wideOnly: true, cell: ({ written_ms: ms }) => formatLatency(ms) },
  { head: 'Sent', align: 'right', wideOnly: true, cell: ({ begun_ms: ms }) => timeOf(ms) },
  { head: 'Arrived', align: 'right', cell: ({ delivered_ms: ms }) => timeOf(ms) },
];

const EARLIER: readonly Column<Drill>[] = [
  { head: 'Started', class: 'whitespace-nowrap', cell: ({ started_at: at }) => formatShort(at) },
  { head: 'Trigger', cell: ({ trigger }) => (trigger === 'monthly' ? 'Monthly' : 'Manual') },
  {
    head: 'Result',
    cell: ({ status }) => <Badge tone={STATUSES[status].tone}>{STATUSES[status].label}</Badge>,
  },
  { head: 'Slowest alert', align: 'right', cell: (drill) => timeOf(slowestOf(drill)) },
];

/** Formats a time of the stopwatch; null has not happened. */
function timeOf(ms: number | null): string {
  return ms === null ? '–' : formatLatency(ms);
}

/** Returns the slowest alert that arrived; null if none did. */
function slowestOf({ deliveries }: Drill): number | null {
  const arrived = deliveries.flatMap(({ event, delivered_ms: ms }) =>
    event === 'monitor.down' && ms !== null ? [ms] : [],
  );
  return arrived.length === 0 ? null : Math.max(...arrived);
}

type ChannelDrillList = Schemas['ChannelDrillList'];

/** One message of a drill to the channel, or its absence. */
type Row = {
  drill: Drill;
  event: 'monitor.down' | 'monitor.up';
  delivery: Schemas['DrillDelivery'] | null;
  left: Schemas['DrillSkip'] | null;
};

/** The drills that reached a channel, each with its stopwatch, and a button to start one. */
export function ChannelDrills({ channel }: { channel: Channel }) {
  const { id } = channel;
  const load = useLoad((signal) => api.get('/channels/{id}/drills', { path: { id }, signal }), [id]);
  usePoll(load, load.value.value?.drills.some(isUnderWay) === true, DRILL_POLL_MS);
  return (
    <Section
      title="Drills"
      lead="The measured way from the first failing answer of a drill to this receiver’s response."
      actions={canWrite() && isActive(channel) && <Start channel={channel} load={load} />}
    >
      <Loaded load={load} height="h-20">
        {({ drills }) =>
          drills.length === 0 ? (
            <p class="rounded-xl border border-line bg-surface px-4 py-5 text-sm text-soft">
              {isActive(channel)
                ? 'No drills yet. A drill shows whether and how fast alerts arrive here.'
                : 'No drills yet. Drills reach channels that are connected and enabled.'}
            </p>
          ) : (
            <Table
              caption="Messages of drills to this channel, newest first, with the time since the first failing answer"
              columns={COLUMNS}
              rows={drills.flatMap(rowsOf)}
              keyOf={({ drill, event }) => `${drill.id} ${event}`}
              hrefOf={({ drill }) => `/monitors/${drill.monitor_id}`}
            />
          )
        }
      </Loaded>
    </Section>
  );
}

function rowsOf(drill: Drill): Row[] {
  const sent = drill.deliveries.map((delivery) => ({ drill, event: delivery.event, delivery, left: null }));
  const skipped = drill.skipped.map((left) => ({ drill, event: left.event, delivery: null, left }));
  return [...sent, ...skipped].toSorted((a, b) => a.event.localeCompare(b.event));
}

const COLUMNS: readonly Column<Row>[] = [
  {
    head: 'Monitor',
    cell: ({ drill }) => (
      <>
        <LongText text={drill.monitor_name} />
        <span class="block whitespace-nowrap text-xs font-normal text-soft">{formatShort(drill.started_at)}</span>
      </>
    ),
  },
  { head: 'Message', cell: ({ event }) => (event === 'monitor.up' ? 'End' : 'Alert') },
  {
    head: 'Outcome',
    cell: ({ delivery, left }) => (
      <>
        {delivery !== null && <OutcomeBadge delivery={delivery} />}
        {left !== null && <span class="text-soft">Left out: {SKIPS[left.reason]}</span>}
      </>
    ),
  },
  { head: 'Decided', align: 'right', wideOnly: true, cell: ({ delivery }) => timeOf(delivery?.written_ms ?? null) },
  { head: 'Sent', align: 'right', wideOnly: true, cell: ({ delivery }) => timeOf(delivery?.begun_ms ?? null) },
  { head: 'Arrived', align: 'right', cell: ({ delivery }) => timeOf(delivery?.delivered_ms ?? null) },
];

function Start({ channel, load }: { channel: Channel; load: Load<ChannelDrillList> }) {
  const isChoosing = useSignal(false);
  const { isBusy, error, run } = useFormAction();
  const start = (id: string) =>
    run(async () => {
      await api.post('/monitors/{id}/drill', { path: { id } });
      isChoosing.value = false;
      toast('Drill started');
      await load.reload();
    });
  return (
    <>
      <Button size="small" icon="play" onClick={() => (isChoosing.value = true)}>
        Start a drill
      </Button>
      {isChoosing.value && (
        <MonitorDialog
          title="Start a drill"
          text={`${DRILL_TEXT} Choose the monitor.`}
          isOffered={(monitor) => monitor.enabled === 1 && isNotified(channel, monitor)}
          error={error.value === null ? null : sentenceOf(error.value)}
          onClose={() => (isChoosing.value = false)}
          onChosen={(id) => {
            if (!isBusy.value) void start(id);
          }}
        />
      )}
    </>
  );
}
