import anyTest, { type TestFn } from 'ava';
import { findBarriers, openPage } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { startMailServer, type MailServer } from '../helpers/smtp-server.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsoleService>;
let mail: MailServer;
withConsole(test, async (harness) => {
  mail = await startMailServer(harness);
  return { SMTP_URL: `smtp://localhost:${mail.settings.port}`, MAIL_FROM: 'Spotcheck <alerts@spotcheck.example>' };
});

const ADDRESS = 'oncall@customer.example';
/** Returns the path of a link: the service does not know its actual port. */
const linkIn = (text: string | undefined) => /\/connect\/email\S*/.exec(text ?? '')?.[0] ?? '';

test.serial(
  'an email address is confirmed by the latest link only, tested, and unsubscribed by its reader',
  async (t) => {
    const { page, complaints } = await openSignedIn(t, '/channels/new');
    await page.getByRole('radio', { name: 'Email' }).check();
    const address = page.getByLabel('Email address');
    await address.fill('oncall@');
    await page.getByRole('button', { name: 'Create and send confirmation' }).click();
    await page.getByText('Enter one address, like oncall@example.com').waitFor();
    t.deepEqual(mail.taken, []);
    t.deepEqual(await findBarriers(page), []);

    await address.fill(ADDRESS);
    await page.getByLabel('Name', { exact: true }).fill('On call');
    await page.getByLabel('Send reports').check();
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByLabel('Time zone').press('Tab');
    await page.getByRole('button', { name: 'Create and send confirmation' }).click();
    await page.getByText('Waiting for confirmation…').waitFor();
    await page.getByText(ADDRESS).waitFor();
    t.deepEqual(await findBarriers(page), []);
    const first = linkIn(mail.mailsTo(ADDRESS)[0]?.text);
    await page.getByRole('button', { name: 'Send confirmation again' }).click();
    await page.getByText('Confirmation sent.').waitFor();
    const second = linkIn(mail.mailsTo(ADDRESS)[1]?.text);

    const list = await openSignedIn(t, '/channels');
    await list.page.getByText('Waiting for confirmation').waitFor();
    await list.page.getByText('On call').click();
    await list.page.getByText('No alerts are sent until the address is confirmed.').waitFor();
    t.deepEqual(await findBarriers(list.page), []);

    const { page: reader, complaints: ofReader } = await openPage(t, t.context.browser, { url: t.context.service.url });
    await reader.goto(first);
    await reader.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    await reader.goto(second);
    await reader.getByRole('heading', { name: 'Confirm this address' }).waitFor();
    t.deepEqual(await findBarriers(reader), []);
    await reader.getByRole('button', { name: 'Confirm' }).click();
    await reader.getByRole('heading', { name: 'Address confirmed' }).waitFor();

    // The page that was waiting proceeds without a reload.
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/Test alert delivered/).waitFor();
    const sent = await until(() => mail.mailsTo(ADDRESS)[2]);
    t.is(sent.headers['subject'], 'Test: On call');

    await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
    t.is(await page.getByLabel('Time zone').inputValue(), 'Europe/Berlin');
    await reader.goto(linkIn(sent.headers['list-unsubscribe']?.slice(1, -1)));
    await reader.getByRole('button', { name: 'Unsubscribe' }).click();
    await reader.getByRole('heading', { name: 'Unsubscribed' }).waitFor();
    await page.getByText('A reader of this address unsubscribed').waitFor();
    await page.getByText('Disabled', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Send confirmation again' }).waitFor();
    t.deepEqual(await findBarriers(page), []);
    // The first page was opened through a link that had been replaced.
    t.deepEqual([...complaints, ...list.complaints], []);
    t.deepEqual(
      ofReader.filter((complaint) => !complaint.includes('400')),
      [],
    );
  },
);

test.serial('a page that waits for the confirmation of a channel reports its deletion', async (t) => {
  const { service } = t.context;
  const { page, complaints } = await openSignedIn(t, '/channels/new?type=email');
  await page.getByLabel('Email address').fill('gone@customer.example');
  const created = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.getByRole('button', { name: 'Create and send confirmation' }).click();
  const { id } = (await (await created).json()) as { id: string };
  await page.getByText('Waiting for confirmation…').waitFor();
  t.is((await service.call('DELETE', `/channels/${id}`)).status, 200);
  await page.getByRole('alert').getByRole('heading', { name: 'Channel deleted' }).waitFor();
  t.is(await page.getByText('Waiting for confirmation…').count(), 0);
  await page.getByRole('main').getByRole('link', { name: 'All channels' }).click();
  await page.waitForURL('/channels');
  t.deepEqual(complaints, []);
});
