import anyTest, { type TestFn } from 'ava';
import { recordAdvisories } from '../../../models/alerts/advisories.ts';
import { storeCertificates } from '../../../models/checks/checks.ts';
import { storeDomain } from '../../../models/checks/lookups.ts';
import { runOn } from '../../../models/sql.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test('a domain monitor is created, patched and read with its warning days', async (t) => {
  const { owner } = await t.context.api.account();
  const created = await owner('POST', '/v1/monitors', {
    name: 'Ours',
    type: 'domain',
    target: 'www.bücher.de',
    warn_days: 45,
  });
  t.is(created.status, 201, created.text);
  const path = `/v1/monitors/${created.json['id']}`;
  t.like((await owner('GET', path)).json, {
    target: 'www.bücher.de',
    interval_seconds: 3600,
    timeout_ms: 10_000,
    down_min_sources: 1,
    check_spec: { domain: { warnDays: 45 } },
  });
  t.is(
    (await owner('PATCH', path, { target: 'example.nowhere', check_spec: { domain: { warnDays: 7 } } })).status,
    200,
  );
  t.like((await owner('GET', path)).json, { target: 'example.nowhere', check_spec: { domain: { warnDays: 7 } } });
});

const UNREGISTRABLE = ['co.uk', 'CO.UK.', 'foo.ck', 'kawasaki.jp', 'com.br', '公司.cn'];
for (const target of UNREGISTRABLE) {
  test(`${target} is refused at creation and in a PATCH, with the remedy`, async (t) => {
    const { owner } = await t.context.api.account();
    const {
      json: { id },
    } = await owner('POST', '/v1/monitors', { name: 'Ours', type: 'domain', target: 'example.com' });
    for (const answer of [
      await owner('POST', '/v1/monitors', { name: 'x', type: 'domain', target }),
      await owner('PATCH', `/v1/monitors/${id}`, { target }),
    ]) {
      isError(t, answer, {
        status: 400,
        error: /^target must be a registrable domain, such as example\.co\.uk, got .*: name a domain under it$/,
      });
    }
    t.is((await owner('GET', `/v1/monitors/${id}`)).json['target'], 'example.com');
  });
}

test('other monitor types accept a public suffix', async (t) => {
  const { owner } = await t.context.api.account();
  for (const body of [
    { type: 'icmp', target: 'co.uk' },
    { type: 'dns', target: 'co.uk' },
    { type: 'http', target: 'https://co.uk/', warn_days: 7 },
  ]) {
    const answer = await owner('POST', '/v1/monitors', { name: 'x', ...body });
    t.is(answer.status, 201, answer.text);
  }
});

test('domain and certificate facts are shown with the advisories that still apply', async (t) => {
  const { api } = t.context;
  const { database } = api;
  const { owner, reader } = await api.account();
  const day = 86_400;
  const now = Math.floor(Date.now() / 1000);
  const make = async (body: object) => {
    const {
      json: { id },
    } = await owner('POST', '/v1/monitors', { name: 'Shop', ...body });
    const {
      rows: [row],
    } = await database.pool.query<{ no: number }>('SELECT no FROM monitors WHERE id = $1', [id]);
    return { no: row?.no ?? 0, facts: async (call = reader) => await call('GET', `/v1/monitors/${id}/facts`) };
  };
  const shop = await make({ target: 'https://www.shop.example.com/', warn_days: 30 });
  const quiet = await make({ target: 'https://www.shop.example.com/' });
  const domain = await make({ type: 'domain', target: 'example.com' });
  const nothing = { domain: null, certificate: null, advisories: [] };
  t.deepEqual((await shop.facts()).json, nothing);

  const facts = {
    name: 'example.com',
    registration: { expiresAt: now + 10 * day, registrar: 'Registrar Ltd' },
    notFoundSinceMs: null,
    answeredAtMs: now * 1000,
    failures: 1,
    failure: 'The registry did not answer',
    nextLookupAtMs: (now + day) * 1000,
  };
  await storeDomain(database, facts);
  const {
    rows: [agent],
  } = await database.pool.query<{ no: number }>(`SELECT no FROM agents WHERE region = 'hanoi'`);
  await database.pool.query(
    'INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds) SELECT no, $1, 60 FROM monitors WHERE ' +
      'no = ANY($2) ON CONFLICT DO NOTHING',
    [agent?.no, [shop.no, quiet.no]],
  );
  const observed = {
    agentNo: agent?.no ?? 0,
    target: 'https://www.shop.example.com/',
    name: '*.shop.example.com',
    expiresAt: now + 5 * day,
    observedAtMs: now * 1000,
  };
  await storeCertificates(
    database,
    [shop.no, quiet.no].map((monitorNo) => ({ ...observed, monitorNo })),
  );
  const advisory = { monitorNo: shop.no, subject: 'certificate', name: observed.name, threshold: 7 } as const;
  await recordAdvisories(
    runOn(database.pool),
    [
      { ...advisory, expiresAt: observed.expiresAt },
      { ...advisory, subject: 'domain', name: 'example.com', threshold: 14, expiresAt: now - 300 * day },
    ],
    (now - day) * 1000,
  );

  const known = {
    name: 'example.com',
    registered: true,
    expires_at: now + 10 * day,
    registrar: 'Registrar Ltd',
    asked_at: now,
    failure: 'The registry did not answer',
  };
  const certificate = { name: observed.name, expires_at: observed.expiresAt };
  t.deepEqual((await shop.facts()).json, {
    domain: known,
    certificate,
    advisories: [
      {
        subject: 'certificate',
        name: observed.name,
        expires_at: observed.expiresAt,
        threshold_days: 7,
        sent_at: now - day,
      },
    ],
  });
  t.deepEqual((await quiet.facts()).json, { domain: null, certificate, advisories: [] });
  t.deepEqual((await domain.facts()).json, { domain: known, certificate: null, advisories: [] });
  await storeCertificates(database, [{ ...observed, monitorNo: shop.no, expiresAt: now + 95 * day }]);
  t.deepEqual((await shop.facts()).json['advisories'], [], 'it was renewed');
  t.is((await shop.facts((await api.account()).owner)).status, 404);
});
