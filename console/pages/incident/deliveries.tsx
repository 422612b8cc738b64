import type { Schemas } from '../../client/api.ts';
import { Table } from '../../parts/table.tsx';
import { Moment } from '../../parts/time.tsx';
import { PATHS } from '../../paths.ts';
import { EventOf, OutcomeBadge } from '../channels/delivery-words.tsx';

/** Deliveries are kept for so long, in seconds. */
const KEPT_SECONDS = 30 * 86_400;

/** What was sent because of an incident; each leads to the record of its channel. */
export function IncidentDeliveries({
  deliveries,
  startedAt,
}: {
  deliveries: readonly Schemas['IncidentDelivery'][];
  startedAt: number;
}) {
  if (deliveries.length === 0) {
    const isForgotten = Date.now() / 1000 - startedAt > KEPT_SECONDS;
    if (isForgotten) return <p class="text-sm text-soft">What was sent is kept for 30 days.</p>;
    return (
      <p class="text-sm text-soft">
        No alert was sent. Where alerts go is said by{' '}
        <a href={PATHS.channels} class="text-accent underline underline-offset-2">
          channels
        </a>
        .
      </p>
    );
  }
  return (
    <Table
      caption="What was sent because of this incident"
      rows={deliveries}
      keyOf={({ id }) => id}
      hrefOf={({ channel_id: channel, id }) => `/channels/${channel}?delivery=${id}`}
      columns={[
        { head: 'Channel', cell: ({ channel_name: name }) => <span class="break-words">{name}</span> },
        { head: 'Event', cell: ({ event, created_at: at }) => <EventOf event={event} at={at} /> },
        {
          head: 'Outcome',
          cell: ({ outcome, attempt_count: attempts }) => <OutcomeBadge outcome={outcome} attempts={attempts} />,
        },
        {
          head: 'When',
          cell: ({ created_at: at }) => <Moment at={at} />,
          align: 'right',
          wideOnly: true,
          class: 'whitespace-nowrap text-soft',
        },
      ]}
    />
  );
}
