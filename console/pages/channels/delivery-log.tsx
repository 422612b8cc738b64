import { useEffect, useRef } from 'preact/hooks';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { usePoll, useReload } from '../../client/live.ts';
import { canWrite, useDraft } from '../../client/session-state.ts';
import { toast, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { Field, inputClass } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { Loaded, Outdated, useLoad, type Load } from '../../parts/load.tsx';
import { Empty } from '../../parts/page.tsx';
import { BackToNewest, FROM_THE_NEWEST, FurtherBack, Table, readPaging, type Paging } from '../../parts/table.tsx';
import { Deadline, Moment, TimesIn, timeZone } from '../../parts/time.tsx';
import { fromWallTime } from '../../parts/wall-time.ts';
import { route, setQuery } from '../../shell/router.ts';
import { DeliveryDialog, DeliverySubject } from './delivery.tsx';
import {
  EVENTS,
  EventOf,
  OUTCOMES,
  OutcomeBadge,
  isUnderWay,
  type Channel,
  type DeliveryEvent,
  type DeliveryOutcome,
} from './words.tsx';

const HOUR = 3600;
/** How far back to replay, in seconds; older deliveries are not stored. */
const SPANS = [
  { value: String(HOUR), label: 'Last hour' },
  { value: String(6 * HOUR), label: 'Last 6 hours' },
  { value: String(24 * HOUR), label: 'Last 24 hours' },
  { value: String(7 * 24 * HOUR), label: 'Last 7 days' },
  { value: String(30 * 24 * HOUR), label: 'Last 30 days (all stored)' },
  { value: 'since', label: 'Custom time' },
];

/** A dialog that replays the deliveries that failed since a moment. */
function ReplayDialog({
  channelId,
  onClose,
  onDone,
}: {
  channelId: string;
  onClose: () => void;
  onDone: () => Promise<void>;
}) {
  const span = useDraft('redeliver span', String(24 * HOUR));
  const moment = useDraft('redeliver since', '');
  const form = useJudgedForm({ since: 'Choose a time in the past' });
  const isOwnMoment = span.value === 'since';
  const replay = () => {
    const since = isOwnMoment ? fromWallTime(moment.value, timeZone.value) : serviceSeconds() - Number(span.value);
    return form.submit({ since: since === null ? 'Enter a date between 1970 and 2999' : null }, async () => {
      if (since === null) return;
      const { replayed } = await api.post('/channels/{id}/replay', { path: { id: channelId }, body: { since } });
      await onDone();
      toast(replayed === 0 ? 'No failed deliveries in this period' : `Redelivering ${count(replayed, 'alert')}`);
      onClose();
    });
  };
  return (
    <FormDialog
      title="Redeliver failed alerts"
      action="Redeliver"
      isBusy={form.isBusy.value}
      canSubmit={!isOwnMoment || moment.value !== ''}
      error={form.rest}
      onSubmit={() => void replay()}
      onClose={onClose}
    >
      <p class="text-sm text-soft">
        Failed deliveries are sent again, oldest first. Each keeps its ID, so receivers can detect duplicates.
      </p>
      <SelectField
        label="Period"
        options={SPANS}
        value={span.value}
        onValue={(value) => (span.value = value)}
        error={isOwnMoment ? null : form.problem('since')}
      />
      {isOwnMoment && (
        <Field label="Failed since" hint={<TimesIn />} error={form.problem('since')}>
          {(input) => (
            <input
              {...input}
              type="datetime-local"
              value={moment.value}
              onInput={(event) => (moment.value = event.currentTarget.value)}
              class={`${inputClass(input)} h-9`}
            />
          )}
        </Field>
      )}
    </FormDialog>
  );
}

type Delivery = Schemas['Delivery'];
/**
 * A page of deliveries. `next` is the cursor of older ones, null if there are none; `canReplay`: an alert may have
 * failed.
 */
type Found = { deliveries: readonly Delivery[]; next: string | null; canReplay: boolean };

const OUTCOME_CHOICES = [
  { value: '', label: 'Any outcome' },
  ...Object.entries(OUTCOMES).map(([value, { label }]) => ({ value, label })),
];
const EVENT_CHOICES = [
  { value: '', label: 'Any event' },
  ...Object.entries(EVENTS).map(([value, label]) => ({ value, label })),
];

/**
 * Interval of reloads in milliseconds, shorter while a delivery is under way. The stream does not report deliveries,
 * because an alert storm would flood it.
 */
const POLL_MS = { busy: 2500, quiet: 10_000 } as const;

/** Number of the newest failed deliveries among which an alert is searched: tests are not sent again. */
const FAILED_LOOKED_AT = 20;

/** The deliveries of a channel in the last 30 days, with their outcomes. */
export function DeliveryLog({ channel, query }: { channel: Channel; query: Readonly<Record<string, string>> }) {
  const outcome = query['outcome'] ?? '';
  const event = query['event'] ?? '';
  const { cursor, count: limit } = readPaging(query);
  const isReplaying = useDraft('redeliver', false);
  const load = useLoad<Found>(
    async (signal) => {
      const path = { id: channel.id };
      const [{ answer, next }, failed] = await Promise.all([
        api.page('/channels/{id}/deliveries', {
          path,
          query: {
            limit,
            ...(cursor !== '' && { cursor }),
            ...(outcome in OUTCOMES && { outcome: outcome as DeliveryOutcome }),
            ...(event in EVENTS && { event: event as DeliveryEvent }),
          },
          signal,
        }),
        api.page('/channels/{id}/deliveries', { path, query: { limit: FAILED_LOOKED_AT, outcome: 'failed' }, signal }),
      ]);
      const canReplay = failed.next !== null || failed.answer.deliveries.some((each) => each.event !== 'test');
      return { deliveries: answer.deliveries, next, canReplay };
    },
    [channel.id, outcome, event, cursor, limit],
  );
  const isBusy = load.value.value?.deliveries.some(isUnderWay) ?? false;
  useReload(load, ['incident', 'channel', 'agent']);
  // A test reloads the channel; the stream does not report its delivery either.
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) void load.reload();
    isFirst.current = false;
  }, [channel]);
  // Older pages have no pending deliveries.
  usePoll(load, cursor === '', isBusy ? POLL_MS.busy : POLL_MS.quiet);
  const opened = query['delivery'] ?? '';
  const canReplay = load.value.value?.canReplay ?? false;
  return (
    <>
      <div class="mb-4 flex flex-wrap items-center gap-2">
        <SelectField
          label="Outcome"
          hideLabel
          class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
          options={OUTCOME_CHOICES}
          value={outcome}
          onValue={(value) => setQuery({ ...FROM_THE_NEWEST, outcome: value })}
        />
        <SelectField
          label="Event"
          hideLabel
          class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
          options={EVENT_CHOICES}
          value={event}
          onValue={(value) => setQuery({ ...FROM_THE_NEWEST, event: value })}
        />
        {canWrite() && channel.status === 'connected' && channel.enabled && (
          <Button
            icon="retry"
            class="w-full sm:ml-auto sm:w-auto"
            disabled={!canReplay}
            title={canReplay ? undefined : 'No failed alerts'}
            onClick={() => (isReplaying.value = true)}
          >
            Redeliver failed
          </Button>
        )}
      </div>
      <Outdated load={load} />
      <Loaded load={load}>
        {(found) => (
          <Listing
            found={found}
            load={load}
            isFiltered={outcome !== '' || event !== ''}
            paging={{ cursor, count: limit }}
          />
        )}
      </Loaded>
      {opened !== '' && (
        <DeliveryDialog
          key={opened}
          id={opened}
          channel={channel}
          onClose={() => setQuery({ delivery: '' })}
          onChanged={load.reload}
        />
      )}
      {isReplaying.value && (
        <ReplayDialog channelId={channel.id} onClose={() => (isReplaying.value = false)} onDone={load.reload} />
      )}
    </>
  );
}

type ListingProps = { found: Found; load: Load<Found>; isFiltered: boolean; paging: Paging };

function Listing({ found: { deliveries, next }, load, isFiltered, paging }: ListingProps) {
  if (deliveries.length === 0) {
    return isFiltered ? (
      <Empty
        icon="search"
        title="No deliveries match your filters"
        action={<Button onClick={() => setQuery({ ...FROM_THE_NEWEST, outcome: '', event: '' })}>Clear filters</Button>}
      >
        Deliveries are stored for 30 days.
      </Empty>
    ) : (
      <Empty icon="channels" title="No deliveries yet">
        Alerts and tests appear here for 30 days, with every attempt and response.
      </Empty>
    );
  }
  return (
    <>
      <BackToNewest cursor={paging.cursor} />
      <Table
        caption="Deliveries, the newest first"
        rows={deliveries}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => withDelivery(id)}
        columns={[
          { head: 'Event', cell: ({ event, created_at: at }) => <EventOf event={event} at={at} /> },
          { head: 'Subject', cell: (delivery) => <DeliverySubject delivery={delivery} /> },
          { head: 'Outcome', cell: (delivery) => <Outcome delivery={delivery} /> },
          {
            head: 'When',
            cell: ({ created_at: at }) => <Moment at={at} />,
            align: 'right',
            wideOnly: true,
            class: 'whitespace-nowrap text-soft',
          },
        ]}
      />
      <FurtherBack next={next} count={paging.count} isLoading={load.isLoading.value} />
    </>
  );
}

function Outcome({ delivery }: { delivery: Delivery }) {
  const { outcome, attempt_count: attempts, last_error: error, next_attempt_at: next } = delivery;
  return (
    <>
      <OutcomeBadge delivery={delivery} />
      {outcome === 'pending' && next !== null && attempts > 0 && (
        <span class="block text-xs text-soft">
          retry <Deadline at={next} />
        </span>
      )}
      {error !== null && outcome !== 'delivered' && (
        <span class="line-clamp-3 max-w-xs wrap-anywhere text-xs text-soft @max-3xl:hidden">{error}</span>
      )}
    </>
  );
}

/** Returns the address of this page with a delivery opened. */
function withDelivery(id: string): string {
  const { path, query } = route.value;
  return `${path}?${new URLSearchParams({ ...query, delivery: id }).toString()}`;
}
