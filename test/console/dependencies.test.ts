import anyTest, { type TestFn } from 'ava';
import { addPerson } from '../api/person.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

test('a parent is added in the form, both pages show it, and a cycle is reported at the field', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const add = async (name: string) =>
    String((await account.owner('POST', '/v1/monitors', { name, target: 'https://a.example/' })).json['id']);
  const [router, shop] = [await add('Router'), await add('Shop')];
  const { page, complaints } = await open(t, await addPerson(api, account.tenantId));
  await page.goto(`/monitors/${shop}/edit`);
  await page.getByText('Parent monitors').click();
  await page.getByRole('button', { name: 'Add a monitor' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /Router/ })
    .click();
  await page.getByLabel('When Router is down').selectOption({ label: 'Mention it in alerts' });
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Save', exact: false }).first().click();
  await page.getByRole('heading', { name: 'Parents', exact: true }).waitFor();
  t.deepEqual((await account.owner('GET', `/v1/monitors/${shop}`)).json['depends_on'], [
    { id: router, mode: 'annotate' },
  ]);
  await page.goto(`/monitors/${router}`);
  await page.getByRole('heading', { name: 'Children', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Shop' }).waitFor();
  await page.setViewportSize({ width: 320, height: 800 });
  t.deepEqual(await findSideways(page), []);

  await page.goto(`/monitors/${router}/edit`);
  await page.getByText('Parent monitors').click();
  await page.getByRole('button', { name: 'Add a monitor' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /Shop/ }).click();
  await page.getByRole('button', { name: 'Save', exact: false }).first().click();
  await page.getByText(/ot depend on this monitor itself/).waitFor();
  t.deepEqual(
    complaints.filter((text) => !text.includes('400')),
    [],
  );
});

test('the page of an agent counts drafts apart from the monitors that it checks', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const person = await addPerson(api, account.tenantId);
  const { id } = (await person.call('POST', '/v1/agents', { name: 'home-lab' })).json;
  await account.owner('POST', '/v1/monitors', { name: 'Idea', agent_sources: [id] });
  await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://a.example/', agent_sources: [id] });
  const { page, complaints } = await open(t, person);
  await page.goto(`/agents/${id}`);
  await page.getByText('1 monitor, and 1 draft.').waitFor();
  await page.getByRole('link', { name: /^Idea.*Draft \(no URL\)$/ }).waitFor();
  t.deepEqual(complaints, []);
});
