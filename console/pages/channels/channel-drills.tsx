import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { sentenceOf } from '../../client/failure.ts';
import { usePoll } from '../../client/reload.ts';
import { canWrite } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useFormAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { Loaded, useLoad, type Load } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { formatShort } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { DRILL_POLL_MS, DRILL_TEXT, isUnderWay, SKIPS, timeOf } from '../monitor/drills.tsx';
import { MonitorDialog } from './monitor-choice.tsx';
import { isActive, isNotified } from './notified.tsx';
import { OutcomeBadge, type Channel } from './words.tsx';

type Drill = Schemas['Drill'];
type Drills = Schemas['ChannelDrillList'];

/** One message of a drill to the channel, or that there was none. */
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
        {delivery !== null && <OutcomeBadge outcome={delivery.outcome} attempts={delivery.attempt_count} />}
        {left !== null && <span class="text-soft">Left out: {SKIPS[left.reason]}</span>}
      </>
    ),
  },
  { head: 'Decided', align: 'right', wideOnly: true, cell: ({ delivery }) => timeOf(delivery?.written_ms ?? null) },
  { head: 'Sent', align: 'right', wideOnly: true, cell: ({ delivery }) => timeOf(delivery?.begun_ms ?? null) },
  { head: 'Arrived', align: 'right', cell: ({ delivery }) => timeOf(delivery?.delivered_ms ?? null) },
];

function Start({ channel, load }: { channel: Channel; load: Load<Drills> }) {
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
