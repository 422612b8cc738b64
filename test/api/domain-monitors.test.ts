import anyTest from 'ava';
import type { TestFn } from 'ava';
import { isError, withApiServer } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test('a domain monitor is created, patched and read back with its days of warning', async (t) => {
  const { owner } = await t.context.api.account();
  const created = await owner('POST', '/v1/monitors', { name: 'Ours', type: 'domain', target: 'www.bücher.de', warn_days: 45 });
  t.is(created.status, 201, created.text);
  const path = `/v1/monitors/${created.json['id']}`;
  t.like((await owner('GET', path)).json, { target: 'www.bücher.de', interval_seconds: 3600, timeout_ms: 10_000, down_min_sources: 1, check_spec: { domain: { warnDays: 45 } } });
  t.is((await owner('PATCH', path, { target: 'example.nowhere', check_spec: { domain: { warnDays: 7 } } })).status, 200);
  t.like((await owner('GET', path)).json, { target: 'example.nowhere', check_spec: { domain: { warnDays: 7 } } });
});

const UNREGISTRABLE = ['co.uk', 'CO.UK.', 'foo.ck', 'kawasaki.jp', 'com.br', '公司.cn'];
for (const target of UNREGISTRABLE) {
  test(`${target} is refused at creation and in a PATCH, with the remedy`, async (t) => {
    const { owner } = await t.context.api.account();
    const { json: { id } } = await owner('POST', '/v1/monitors', { name: 'Ours', type: 'domain', target: 'example.com' });
    for (const answer of [await owner('POST', '/v1/monitors', { name: 'x', type: 'domain', target }), await owner('PATCH', `/v1/monitors/${id}`, { target })]) {
      isError(t, answer, { status: 400, error: /^target must be a domain that can be registered, such as example\.co\.uk, got .*: name a domain under it$/ });
    }
    t.is((await owner('GET', `/v1/monitors/${id}`)).json['target'], 'example.com');
  });
}

test('no other type minds a public suffix', async (t) => {
  const { owner } = await t.context.api.account();
  for (const body of [{ type: 'icmp', target: 'co.uk' }, { type: 'dns', target: 'co.uk' }, { type: 'http', target: 'https://co.uk/', warn_days: 7 }]) {
    const answer = await owner('POST', '/v1/monitors', { name: 'x', ...body });
    t.is(answer.status, 201, answer.text);
  }
});
