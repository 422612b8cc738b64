import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import { planDelivery, QUIET_AHEAD_MS, type ChannelRule } from '../../core/alerts/rules.ts';
import { STATEFUL_PRESETS } from '../../core/alerts/webhook-format.ts';
import { ServiceCalendar } from '../../core/statistics/service-sla.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { createIdSource } from '../secrets/ids.ts';
import type { Run } from '../sql.ts';
import { insertDeliveries } from './deliveries.ts';

/** A monitor whose open incident is ended without a recovery, with the sequence that the end has. */
type EndedMonitor = { monitorId: string; sequence: number; atMs: number; resolution: 'paused' | 'deleted' };

type OpenAlert = {
  tenantId: string;
  channelId: string;
  message: MonitorMessage;
  rules: readonly ChannelRule[] | null;
  tags: readonly string[];
};

const REASONS = {
  paused: 'The monitor was paused: it is not checked any more',
  deleted: 'The monitor was deleted',
} as const satisfies Record<EndedMonitor['resolution'], string>;

/**
 * Writes the end of a monitor's open incident for receivers that keep its alert open until then (D-573). They must have
 * been sent it or be about to be, and the rules of the channel not leave every `monitor.up` out. Run it before the
 * incident is resolved, in the same transaction. The deliveries are found as due by whoever looks for overdue ones.
 */
export async function insertResolves(run: Run, { monitorId, sequence, atMs, resolution }: EndedMonitor): Promise<void> {
  const open = await run<OpenAlert>(
    `SELECT DISTINCT ON (d.channel_id) d.tenant_id AS "tenantId", d.channel_id AS "channelId", d.message, c.rules,
       m.tags
     FROM incidents i JOIN monitors m ON m.id = i.monitor_id JOIN deliveries d ON d.monitor_id = i.monitor_id
       AND d.message #>> '{detail,incident_id}' = i.id JOIN channels c ON c.id = d.channel_id
     WHERE i.monitor_id = $1 AND i.resolved_at IS NULL AND d.event <> 'monitor.up'
       AND c.format ->> 'preset' = ANY ($2::text[])
       AND (d.attempts > 0 OR (d.outcome = 'pending' AND NOT EXISTS (
         SELECT FROM held_deliveries h WHERE h.delivery_id = d.id AND h.released_at IS NULL)))
     ORDER BY d.channel_id, d.no DESC`,
    [monitorId, STATEFUL_PRESETS],
  );
  if (open.length === 0) return;
  const calendar = new ServiceCalendar({ fromMs: atMs, toMs: atMs + QUIET_AHEAD_MS });
  const newId = createIdSource();
  const wanted = open.filter(({ rules, tags }) => {
    const event = { event: 'monitor.up', tags, nowMs: atMs, incidentStartedAtMs: null } as const;
    return planDelivery(rules, event, calendar) !== null;
  });
  await insertDeliveries(
    run,
    wanted.map(({ tenantId, channelId, message }) => ({
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId,
      message: resolveOf(message, { sequence, atMs, resolution }),
      createdAtMs: atMs,
    })),
  );
}

function resolveOf(
  { reminder: _reminder, ...message }: MonitorMessage,
  { sequence, atMs, resolution }: Omit<EndedMonitor, 'monitorId'>,
): MonitorMessage {
  const { behind: _behind, flapping: _flapping, ...detail } = message.detail;
  return {
    ...message,
    event: 'monitor.up',
    event_at: toUnixSeconds(atMs),
    state: 'up',
    reason: REASONS[resolution],
    detail: {
      ...detail,
      sources_down: [],
      cause: null,
      previous_state: message.state,
      sequence,
      detected_at: toUnixSeconds(atMs),
    },
  };
}
