import type { Schemas } from '../../client/api.ts';
import { Badge } from '../../parts/status.tsx';
import { Moment } from '../../parts/time.tsx';

export type DeliveryOutcome = Schemas['DeliveryOutcome'];
export type DeliveryEvent = Schemas['DeliveryEvent'];

/** What an event says, in a few words. */
export const EVENTS: Record<DeliveryEvent, string> = {
  'monitor.down': 'Down',
  'monitor.degraded': 'Degraded',
  'monitor.up': 'Up',
  'monitor.unknown': 'Not known',
  'agent.offline': 'Agent offline',
  'agent.online': 'Agent online',
  'advisory.domain_expiry': 'Expiry ahead',
  'channel.failing': 'Another channel fails',
  'channel.disconnected': 'Another chat is gone',
  summary: 'Summary of many',
  report: 'Report made',
};

/** What became of a delivery, in a word. */
export const OUTCOMES: Record<DeliveryOutcome, { label: string; tone: 'plain' | 'good' | 'warning' | 'bad' }> = {
  pending: { label: 'On its way', tone: 'warning' },
  delivered: { label: 'Delivered', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  superseded: { label: 'Superseded', tone: 'plain' },
};

/** What a delivery says; where there is no room for a column of its own, with when it was made. */
export function EventOf({ event, at }: { event: DeliveryEvent; at: number }) {
  return (
    <>
      <span class="md:whitespace-nowrap">{EVENTS[event]}</span>
      <span class="block whitespace-nowrap text-xs font-normal text-soft md:hidden">
        <Moment at={at} />
      </span>
    </>
  );
}

/** What became of a delivery; after the first attempt with how many there were. */
export function OutcomeBadge({ outcome, attempts = 1 }: { outcome: DeliveryOutcome; attempts?: number }) {
  const { label, tone } = OUTCOMES[outcome];
  return (
    <span class="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Badge tone={tone}>{label}</Badge>
      {attempts > 1 && <span class="text-xs text-soft">{attempts} attempts</span>}
    </span>
  );
}
