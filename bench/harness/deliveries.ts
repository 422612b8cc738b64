import { randomBytes } from 'node:crypto';
import { buildTestMessage } from '../../core/alerts/envelope.ts';
import { createChannel } from '../../models/alerts/channels.ts';
import { insertDeliveries, insertHeld } from '../../models/alerts/deliveries.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { inTransaction } from '../../models/sql.ts';
import { generateSigningSecret } from '../../notifications/webhook/signature.ts';
import { openQueueBackend } from '../../queues/connection.ts';
import { JobQueues } from '../../queues/job-queues.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import type { Installation } from './installation.ts';

/** Writes events to channels as the evaluator does: rows first, then their jobs. */
export type Outbox = {
  addChannel: (url: string) => Promise<string>;
  /** Creates paused monitors with these numbers: alerts that waited are dropped when their monitor is gone. */
  addMonitors: (monitors: readonly number[]) => Promise<void>;
  /**
   * Inserts one event of each of these monitors for each of these channels, in one transaction. `isHeld`: as if a rule
   * of each channel had held it until now.
   */
  insert: (channelIds: readonly string[], monitors: readonly number[], isHeld?: boolean) => Promise<Inserted[]>;
};

/** A committed delivery; `atMs` is when its event was detected, Unix milliseconds. */
export type Inserted = { id: string; channelId: string; atMs: number };

export function openOutbox(harness: Harness, { databaseUrl, redisUrls, database, tenantId }: Installation): Outbox {
  const backend = openQueueBackend({ databaseUrl, redisUrl: redisUrls[0] ?? null, onError: () => undefined });
  const queues = new JobQueues(backend);
  harness.teardown(async () => {
    await queues.close();
    await backend.close();
  });
  const newId = createIdSource();
  const template = buildTestMessage({ nowMs: Date.now(), publicUrl: 'https://spotcheck.example' });
  return {
    async addChannel(url) {
      const webhook = { url, signingSecret: generateSigningSecret(randomBytes) };
      const channel = {
        id: newId('nch'),
        tenantId,
        type: 'webhook',
        name: 'On call',
        status: 'connected',
        allMonitors: true,
        monitorIds: [],
        webhook,
        nowMs: Date.now(),
      } as const;
      return (await createChannel(database, { ...channel, author: null })).id;
    },
    async addMonitors(monitors) {
      await database.pool.query(
        `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects, enabled,
           down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at)
         SELECT 'mon_' || no, $1, 'Shop', 'http', 60, 1000, true, false, 1, 1, 1, 0, 0, 0
         FROM unnest($2::int[]) AS m (no)`,
        [tenantId, monitors],
      );
    },
    async insert(channelIds, monitors, isHeld = false) {
      const atMs = Date.now();
      const inserted = monitors.flatMap((monitor) =>
        channelIds.map((channelId) => ({
          id: newId('dlv'),
          tenantId,
          channelId,
          monitorId: `mon_${monitor}`,
          message: template,
          createdAtMs: atMs,
        })),
      );
      await inTransaction(database, async (run) => {
        await insertDeliveries(run, inserted);
        if (isHeld)
          await insertHeld(
            run,
            inserted.map(({ id }) => ({ id, reason: 'delay', untilMs: atMs, occurrenceNo: null, heldBy: null })),
          );
      });
      await queues.enqueueAttempts(
        inserted.map(({ id, channelId }) => ({ deliveryId: id, channelId, attempt: 1, dueAtMs: atMs })),
      );
      return inserted.map(({ id, channelId }) => ({ id, channelId, atMs }));
    },
  };
}
