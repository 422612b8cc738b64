import type { ExecutionContext } from 'ava';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { Vote } from '../../../core/checks/verdict.ts';
import type { DependencyMode } from '../../../core/monitors/dependencies.ts';
import type { Monitor, MonitorSettings } from '../../../core/monitors/monitor.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { replaceParents } from '../../../models/monitors/dependencies.ts';
import { runOn } from '../../../models/sql.ts';
import type { WebhookDelivery } from '../../../notifications/webhook/attempt.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import { watchParents } from '../../../workers/alerts/join-parents.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';
import { createDeliverer, DELIVERED } from './create-deliverer.ts';

export const SECOND = 1000;

const LATER = { ...DELIVERED, outcome: 'retry', statusCode: 503 } as const;

/** A full minute of tomorrow. */
const START_MS = Math.floor(Date.now() / 60_000) * 60_000 + 24 * 3_600_000;

/** Creates monitors, some behind others, and channels, on the test's clock in seconds. */
export async function prepareParents(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId, publicUrl } = runtime;
  const run = runOn(database.pool);
  const agent = await runtime.addAgent('local');
  const at = (second: number) => START_MS + second * SECOND;
  const change = async (verdict: Vote, second: number, of: readonly Monitor[]) => {
    const evaluate = createEvaluator({ database, now: () => at(second), newId, publicUrl });
    return await evaluate(of.map((monitor) => resultOf(monitor, agent, { dueAtMs: at(second) - 100, verdict })));
  };
  const add = async (
    name: string,
    parents: readonly [Monitor, DependencyMode][] = [],
    given: Partial<MonitorSettings> = {},
  ) => {
    const monitor = await runtime.addMonitor([agent], { name, downAfterFailures: 1, ...given });
    const on = parents.map(([{ id }, mode]) => ({ id, mode }));
    t.deepEqual(await replaceParents(run, { tenantId, monitor, parents: on }), []);
    await change('up', -60, [monitor]);
    // The first check of a new monitor is done, too.
    await run('UPDATE monitor_sources SET look_at = NULL WHERE monitor_no = $1', [monitor.no]);
    return monitor;
  };
  const addChannel = async (type: 'telegram' | 'webhook', monitorIds: readonly string[] = []) => {
    const id = newId('nch');
    await createChannel(database, {
      id,
      tenantId,
      type,
      name: 'On call',
      status: 'connected',
      allMonitors: monitorIds.length === 0,
      monitorIds: [...monitorIds],
      ...(type === 'webhook' && { webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' } }),
      nowMs: at(-90),
      author: null,
    });
    await run(`UPDATE channels SET chat_id = '-100' WHERE id = $1 AND type = 'telegram'`, [id]);
    return id;
  };
  const sent: ChatMessage[] = [];
  /** Titles of messages that the chat refuses. */
  const refused = new Set<string>();
  /** While the receiver is unavailable nothing arrives, and each attempt must be repeated. */
  const receiver = { isAway: false };
  const posted: WebhookDelivery[] = [];
  /** Delivers to a channel at a second; returns the messages, with their text on monitors behind others. */
  const deliver = async (channelId: string, second: number) => {
    await watchParents(runtime, at(second));
    const deliverer = createDeliverer({
      database,
      newId,
      publicUrl,
      sendWebhook: (delivery) => {
        if (receiver.isAway) return Promise.resolve(LATER);
        posted.push(delivery);
        return Promise.resolve(DELIVERED);
      },
      sendTelegram: (_chatId, message) => {
        if (receiver.isAway) return Promise.resolve(LATER);
        if (refused.has(message.title)) return Promise.resolve({ ...DELIVERED, outcome: 'failed', statusCode: 400 });
        sent.push(message);
        return Promise.resolve(DELIVERED);
      },
      now: () => at(second),
    });
    await new ChannelLanes(deliverer).run(channelId);
    return sent.splice(0).map(({ title, facts }) => {
      const behind = facts.find(({ label }) => label.endsWith('behind it'));
      return behind === undefined ? title : `${title}. ${behind.label}: ${behind.value}`;
    });
  };
  const outcomes = async (channelId: string) =>
    (
      await run<{ text: string }>(
        `SELECT concat_ws(' ', d.message #>> '{monitor,name}', d.message ->> 'state', d.outcome, h.reason,
           (SELECT name FROM monitors m WHERE m.id = h.held_by)) AS text
         FROM deliveries d LEFT JOIN held_deliveries h ON h.delivery_id = d.id WHERE d.channel_id = $1 ORDER BY d.no`,
        [channelId],
      )
    ).map(({ text }) => text);
  return { runtime, run, agent, at, change, add, addChannel, deliver, outcomes, posted, refused, receiver };
}
