import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { components } from '../../../api/schema.generated.ts';
import { listSampleKinds } from '../../../core/alerts/samples.ts';
import { RENDER_MS, TOO_MUCH, type WebhookFormat } from '../../../core/alerts/webhook.ts';
import { createChannel, type NewChannel } from '../../../models/alerts/channels.ts';
import { renderTemplate } from '../../../notifications/webhook/template/engine.ts';
import { runWithin } from '../../../threads/bounded-run.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
// Renders at once: the service's thread may start too late on a busy machine, because a preview waits 3 s for it.
withApiServer(test, {
  templates: {
    async render({ template, variables }) {
      let rendered = TOO_MUCH;
      runWithin(RENDER_MS, () => (rendered = renderTemplate(template, variables)));
      return rendered;
    },
  },
});

type Preview = components['schemas']['MessagePreview'];
type Context = ExecutionContext<{ api: ApiServer }>;

const SECRET = 'key-that-no-preview-shows';

/** Adds a channel, and returns a function that reads its previews by kind. */
async function add(t: Context, channel: Partial<NewChannel> & Pick<NewChannel, 'type'>) {
  const { api } = t.context;
  const account = await api.account();
  const id = api.makeId('nch');
  await createChannel(api.database, {
    id,
    tenantId: account.tenantId,
    name: 'On call',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: Date.now(),
    author: null,
    ...channel,
  });
  const read = async () => {
    const { status, json, text } = await account.reader('GET', `/v1/channels/${id}/previews`);
    t.is(status, 200, text);
    t.false(text.includes(SECRET));
    t.false(text.includes('whsec_'));
    return new Map<string, Preview>(json.previews.map((preview) => [preview.kind, preview]));
  };
  return { account, id, read };
}

const addWebhook = async (t: Context, format: WebhookFormat, path = SECRET) =>
  await add(t, {
    type: 'webhook',
    webhook: {
      url: `https://hooks.example/${path}?routing_key=${SECRET}`,
      signingSecret: 'whsec_AAAA',
      headers: { Authorization: `Bearer ${SECRET}` },
      format,
    },
  });

const bodyOf = (preview: Preview | undefined): unknown => JSON.parse(preview?.requests[0]?.body ?? 'null');

test('a webhook preview shows the signed envelope of every event, without secrets', async (t) => {
  const { read, account, id } = await addWebhook(t, null);
  const previews = await read();
  t.deepEqual([...previews.keys()], listSampleKinds({ type: 'webhook', format: null }));
  const down = previews.get('down');
  t.like(down, { event: 'monitor.down', sent: true, email: null, problem: null });
  t.like(bodyOf(down), { version: '1', event: 'monitor.down', delivery_id: 'dlv_sample', monitor: { name: 'Shop' } });
  t.like(down?.requests[0], { method: 'POST', url: 'https://hooks.example/***', cut: false });
  t.like(down?.requests[0]?.headers, {
    Authorization: '***',
    'X-Service-Signature': 'sha256=***',
    'webhook-signature': 'v1,***',
    'X-Service-Event': 'monitor.down',
    'User-Agent': 'Spotcheck/1 (webhook)',
  });
  t.like(bodyOf(previews.get('drill')), { drill: { id: 'drl_sample' } });
  t.like(bodyOf(previews.get('behind')), { detail: { behind: { monitors: 3 } } });
  t.like(bodyOf(previews.get('reminder')), { reminder: { number: 1, of: 10 } });
  t.like(bodyOf(previews.get('test')), { event: 'monitor.up', test: true });
  t.like(bodyOf(previews.get('group')), { event: 'summary', monitor: null, state: 'down' });
  t.deepEqual([previews.get('group')?.sent, previews.get('reminder')?.sent], [false, false]);

  const rules = [{ events: ['monitor.down'], repeat_seconds: 600 }];
  await account.owner('PATCH', `/v1/channels/${id}`, { rules, group_seconds: 30 });
  const ruled = await read();
  const sent = [...ruled.values()].filter((preview) => !preview.sent).map(({ kind }) => kind);
  t.deepEqual(sent, ['up', 'degraded', 'unknown', 'drill_end']);
});

test('a preset preview has the format of its receiver, with keys masked everywhere', async (t) => {
  const pagerduty = await (await addWebhook(t, { preset: 'pagerduty' })).read();
  t.like(bodyOf(pagerduty.get('down')), { routing_key: '***', event_action: 'trigger' });
  t.like(bodyOf(pagerduty.get('up')), { routing_key: '***', event_action: 'resolve' });
  t.false(pagerduty.has('group'));
  const ntfy = await (await addWebhook(t, { preset: 'ntfy' })).read();
  t.like(bodyOf(ntfy.get('down')), { topic: '***', title: 'Down: Shop', priority: 5 });
  const opsgenie = await (await addWebhook(t, { preset: 'opsgenie' })).read();
  t.regex(opsgenie.get('up')?.requests[0]?.url ?? '', /^https:\/\/hooks\.example\/\*\*\*\/.+\/close\?identifierType=/);
});

test('a template preview is rendered, or shows the envelope that is sent instead if rendering fails', async (t) => {
  const template = (body: string, contentType = 'application/json') =>
    ({ template: { method: 'PUT', contentType, body } }) as const;
  const { read } = await addWebhook(t, template('{"text": {{ title | json }}}'));
  const good = (await read()).get('down');
  t.deepEqual(bodyOf(good), { text: 'Down: Shop' });
  t.like(good?.requests[0], { method: 'PUT' });

  const broken = await (await addWebhook(t, template('{"text": {{ monitor.name.first | json }} oops'))).read();
  t.like(bodyOf(broken.get('down')), { version: '1', event: 'monitor.down' });
  t.regex(
    broken.get('down')?.problem ?? '',
    /^The signed envelope was sent instead: template\.body does not render valid JSON/,
  );

  const endless = await (
    await addWebhook(t, template('{% for i in (1..9999999) %}{{ i }}{% endfor %}', 'text/plain'))
  ).read();
  t.true([...endless.values()].every(({ problem }) => /renders too much|was not rendered/.test(problem ?? '')));

  const long = await (await addWebhook(t, template('{% for i in (1..9000) %}1234{% endfor %}', 'text/plain'))).read();
  t.like(long.get('down')?.requests[0], { cut: true, body: '1234'.repeat(4096) });
});

test('chats and emails are shown as they are sent', async (t) => {
  const slack = await (await add(t, { type: 'slack' })).read();
  t.like(bodyOf(slack.get('down')), {
    text: '\u{1F534} Down: Shop\nHTTP 503 instead of 2xx (seen from 2 of 3 locations)',
  });
  t.like(slack.get('down')?.requests[0], { url: 'https://hooks.slack.com/services/***' });
  t.deepEqual([...slack.keys()], listSampleKinds({ type: 'slack', format: null }));

  const telegram = await (await add(t, { type: 'telegram', summarizesFlapping: true })).read();
  t.like(bodyOf(telegram.get('unstable')), { chat_id: '***', parse_mode: 'HTML' });
  t.like(telegram.get('unstable')?.requests[0], { url: 'https://api.telegram.org/bot***/sendMessage' });
  t.true(telegram.get('unstable')?.sent);
  t.false(telegram.get('report')?.sent);

  const email = await (await add(t, { type: 'email', address: 'oncall@customer.example', wantsReports: true })).read();
  const report = email.get('report')?.email;
  t.like(report, { to: 'oncall@customer.example' });
  t.regex(report?.attachment ?? '', /^report-week-\d{4}-\d\d-\d\d\.csv$/);
  t.regex(report?.text ?? '', /^Shop 1: uptime 99\.702/m);
  t.regex(report?.text ?? '', /unsubscribe\?token=\*\*\*\n$/);
  t.regex(report?.html ?? '', /^<!doctype html>/);
  t.deepEqual(email.get('down')?.requests, []);
});

test('previews of the channel of another account return a 404', async (t) => {
  const { id } = await add(t, { type: 'slack' });
  const other = await t.context.api.account();
  isError(t, await other.owner('GET', `/v1/channels/${id}/previews`), { status: 404, error: /channel/ });
});
