import test from 'ava';
import type { Verdict } from '../../../core/checks/verdict.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { replaceParents } from '../../../models/monitors/dependencies.ts';
import { runOn } from '../../../models/sql.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { announce } from '../../../workers/incidents/record-changes.ts';
import { startDeliver } from '../../../workers/processes/deliver.ts';
import { startParentWatch } from '../../../workers/processes/watches.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';
import { startTelegramServer } from '../../helpers/telegram-server.ts';
import { until } from '../../helpers/until.ts';

const CHAT = 5_000_000_003;

for (const backend of listQueueBackends())
  test(`${backend.name}: a held alert joins its parent's alert or is sent, even after a restart`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const { database, tenantId, newId } = runtime;
    // While the time is stopped, no stall of the machine makes an alert due alone that is to join another.
    let stoppedAtMs: number | null = null;
    const now = () => stoppedAtMs ?? runtime.now();
    const telegram = await startTelegramServer(t);
    telegram.open(CHAT);
    const start = () =>
      startDeliver(
        { ...runtime, now },
        {
          allowPrivateNetwork: true,
          webhookTimeoutSeconds: 60,
          deliveryRetrySeconds: [5, 25, 125],
          telegram: { botToken: telegram.token, botName: null, apiUrl: telegram.url },
          slack: { apiUrl: 'https://slack.com/api' },
          mail: null,
        },
      );
    const agent = await runtime.addAgent('local');
    let step = 0;
    const change = async (verdict: Verdict, monitor: Monitor) => {
      step += 1;
      const evaluate = createEvaluator({ ...runtime, now });
      // Each result is newer than the one before; no process here runs the rechecks of parents.
      const dueAtMs = verdict === 'up' && step > 3 ? now() : now() - 60_000 + 1000 * step;
      await announce(runtime, await evaluate([resultOf(monitor, agent, { dueAtMs, verdict })]));
    };
    const add = async (name: string, parent: Monitor | null) => {
      const monitor = await runtime.addMonitor([agent], { name, downAfterFailures: 1 });
      const parents = parent === null ? [] : [{ id: parent.id, mode: 'hold' as const }];
      await replaceParents(runOn(database.pool), { tenantId, monitor, parents });
      await change('up', monitor);
      return monitor;
    };
    const router = await add('Router', null);
    const [shop, blog] = [await add('Shop', router), await add('Blog', router)];
    const channelId = newId('nch');
    await createChannel(database, {
      id: channelId,
      tenantId,
      type: 'telegram',
      name: 'On call',
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      nowMs: 0,
      author: null,
    });
    await database.pool.query('UPDATE channels SET chat_id = $2 WHERE id = $1', [channelId, String(CHAT)]);

    // No process delivers or watches during the decision: only rows and jobs are left.
    stoppedAtMs = runtime.now();
    await change('down', shop);
    await change('down', router);
    const first = start();
    await until(() => telegram.messagesTo(CHAT).length === 1);
    t.regex(telegram.messagesTo(CHAT)[0] ?? '', /Down: Router[\s\S]*And 1 behind it: Shop/);
    await first.stop();
    stoppedAtMs = null;

    await change('up', router);
    await change('down', blog);
    const [second, watch] = [start(), startParentWatch(runtime)];
    await change('up', router);
    await until(() => telegram.messagesTo(CHAT).some((text) => text.includes('Down: Blog')));
    t.false(telegram.messagesTo(CHAT).some((text) => text.includes('Down: Shop')));
    await watch.stop();
    await second.stop();
  });
