import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { createChannel } from '../../models/alerts/channels.ts';
import { lockOpenDrill, updateDrill } from '../../models/alerts/drills.ts';
import { inTransaction } from '../../models/sql.ts';
import { agentCaller } from '../api/agents/agent-caller.ts';
import { addPerson } from '../api/person.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

async function prepare(t: ExecutionContext<ConsolePages>) {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account, 'home-lab');
  const body = { name: 'Shop', target: 'https://a.example/', agent_sources: [agent.id] };
  const { json: monitor } = await account.owner('POST', '/v1/monitors', body);
  const channelId = api.makeId('nch');
  await createChannel(api.database, {
    id: channelId,
    tenantId: account.tenantId,
    type: 'webhook',
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' },
    nowMs: Date.now(),
    author: null,
  });
  return { account, agent, monitorId: monitor.id, channelId };
}

/** Ends a drill as workers would, with 64 ms to its decision and 129 ms to its receiver. */
async function finish(
  t: ExecutionContext<ConsolePages>,
  { account, agent, channelId }: Awaited<ReturnType<typeof prepare>>,
) {
  const { database, makeId } = t.context.api;
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM drills WHERE tenant_id = $1', [
    account.tenantId,
  ]);
  await inTransaction(database, async (run) => {
    const drill = await lockOpenDrill(run, rows[0]?.id ?? '');
    if (drill === null) throw new Error('There is no drill in progress');
    const at = (ms: number) => drill.startedAtMs + ms;
    await updateDrill(run, {
      ...drill,
      status: 'ended',
      answers: [{ agentNo: agent.no, verdict: 'down', atMs: at(14) }],
      skipped: [{ channelId: 'nch_gone', event: 'monitor.down', reason: 'mute' }],
      alertedAtMs: at(78),
      endsAtMs: at(30_078),
      endedAtMs: at(30_150),
    });
    await run(
      `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, outcome, attempts,
         next_attempt_at, created_at, finished_at)
       VALUES ($1, $2, $3, $4, 'monitor.down', '{}', 'delivered', 1, $5, $5, $6)`,
      [makeId('dlv'), account.tenantId, channelId, drill.id, at(78), at(143)],
    );
  });
}

test('a drill is started on the page of a monitor or channel, and both show its timings', async (t) => {
  const prepared = await prepare(t);
  const { account, monitorId, channelId } = prepared;
  const { page, complaints } = await open(t, await addPerson(t.context.api, account.tenantId));
  await page.goto(`/monitors/${monitorId}`);
  await page.getByText('No drills yet.').waitFor();
  await page.getByRole('button', { name: 'Start a drill' }).click();
  await page.getByText('get an alert marked as a drill').waitFor();
  await page.getByRole('button', { name: 'Start drill', exact: true }).click();
  await page.getByText('Waiting for locations').waitFor();
  await finish(t, prepared);
  const row = page.getByRole('row', { name: /Pager/ });
  await row.getByText('129 ms').waitFor();
  await page.getByText('decided 64 ms after the first failing answer').waitFor();
  await page.getByText('A channel that was deleted was skipped: the monitor is muted').waitFor();
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(await findSideways(page), []);

  await page.goto(`/channels/${channelId}?tab=drills`);
  const onChannel = page.getByRole('row', { name: /Shop/ });
  await onChannel.getByText('129 ms').waitFor();
  await onChannel.getByText('64 ms').waitFor();
  await page.getByRole('button', { name: 'Start a drill' }).click();
  await page.getByText('get an alert marked as a drill').waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('dialog').getByRole('button', { name: /Shop/ }).click();
  await page.getByText('Drill started').waitFor();
  await page.getByRole('button', { name: 'Start a drill' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /Shop/ }).click();
  await page
    .getByRole('dialog')
    .getByRole('alert')
    .filter({ hasText: 'in progress: wait until it has ended' })
    .waitFor();
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 320, height: 800 });
  t.deepEqual(await findSideways(page), []);
  t.deepEqual(
    complaints.filter((text) => !text.includes('409')),
    [],
  );

  const { page: theirs } = await open(t, await addPerson(t.context.api, account.tenantId, { role: 'viewer' }));
  await theirs.goto(`/monitors/${monitorId}`);
  await theirs.getByText('129 ms').first().waitFor();
  t.is(await theirs.getByRole('button', { name: 'Start a drill' }).count(), 0);
  await theirs.goto(`/channels/${channelId}?tab=drills`);
  await theirs.getByRole('row', { name: /Shop/ }).getByText('129 ms').waitFor();
  t.is(await theirs.getByRole('button', { name: 'Start a drill' }).count(), 0);
});

test('a disabled channel offers no drill and says which channels drills reach', async (t) => {
  const { account, channelId } = await prepare(t);
  await t.context.api.database.pool.query('UPDATE channels SET enabled = false WHERE id = $1', [channelId]);
  const { page } = await open(t, await addPerson(t.context.api, account.tenantId));
  await page.goto(`/channels/${channelId}?tab=drills`);
  await page.getByText('No drills yet. Drills reach channels that are connected and enabled.').waitFor();
  t.is(await page.getByRole('button', { name: 'Start a drill' }).count(), 0);
});
