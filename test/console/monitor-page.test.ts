import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { addPerson } from '../api/person.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

/** The page of a monitor that is up, not opened yet. */
async function prepare(t: ExecutionContext<ConsolePages>) {
  const { api } = t.context;
  const account = await api.account();
  const { json } = await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example/' });
  await api.database.pool.query(`UPDATE monitors SET state = 'up' WHERE id = $1`, [json.id]);
  const person = await addPerson(api, account.tenantId);
  const opened = await open(t, person);
  return { ...opened, account, person, id: json.id, path: `/monitors/${json.id}` };
}

test('an outage that came and went while the stream was lost is listed once the stream is back', async (t) => {
  const { api } = t.context;
  const { page, complaints, account, id, path } = await prepare(t);
  const lost = Promise.withResolvers<void>();
  const requested = Promise.withResolvers<void>();
  let streams = 0;
  await page.route('**/v1/live', async (route) => {
    streams += 1;
    // The first stream begins and breaks off; the next one is answered when the outage is over.
    if (streams === 1) {
      await route.fulfill({ contentType: 'text/event-stream', body: 'retry: 100\nevent: ready\ndata: {}\n\n' });
      return;
    }
    requested.resolve();
    await lost.promise;
    await route.continue();
  });
  await page.goto(path);
  await page.getByText('No incidents yet.').waitFor();
  await requested.promise;
  await api.database.pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
     VALUES ($1, $2, $3, 'Shop', 'down', 'answered 503', '{frankfurt}', $4, $4, $4::bigint + 1000, 'recovered')`,
    [api.makeId('inc'), account.tenantId, id, Date.now() - 2000],
  );
  lost.resolve();
  await page
    .getByRole('table', { name: /^Incidents/ })
    .getByText('answered 503')
    .first()
    .waitFor();
  t.deepEqual(complaints, []);
});
