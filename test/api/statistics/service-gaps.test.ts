import anyTest, { type TestFn } from 'ava';
import type { AnswerJson } from '../../helpers/answer-types.ts';
import { isError, nextPage, withApiServer, type Answer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const NOW = 1_763_700_000;
withApiServer(test, { now: () => NOW * 1000 + 500 });

test.serial(
  'gaps that overlap the window are listed newest first and in full, the same for every account',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const gap = (kind: string, from: number, to: number | null) =>
      api.database.pool.query('INSERT INTO service_gaps (kind, started_at, ended_at) VALUES ($1, $2, $3)', [
        kind,
        (NOW + from) * 1000,
        to === null ? null : (NOW + to) * 1000,
      ]);
    const list = async (query = '') => await account.reader('GET', `/v1/service/gaps${query}`);
    const starts = async (query = '') => (await list(query)).json['gaps'].map((one) => one.started_at - NOW);
    t.deepEqual((await list()).json, { gaps: [] });
    await gap('clock', -100 * 86_400, -100 * 86_400 + 300);
    await gap('clock', -7200, -3600);
    await gap('checks', -7000, -6000);
    await gap('evaluation', -90, null);
    t.deepEqual((await list()).json['gaps'], [
      { kind: 'evaluation', started_at: NOW - 90, ended_at: null, duration_seconds: 90 },
      { kind: 'checks', started_at: NOW - 7000, ended_at: NOW - 6000, duration_seconds: 1000 },
      { kind: 'clock', started_at: NOW - 7200, ended_at: NOW - 3600, duration_seconds: 3600 },
    ]);
    t.deepEqual((await (await api.account()).reader('GET', '/v1/service/gaps')).json, (await list()).json);
    t.deepEqual(await starts('?from=0'), [-90, -7000, -7200, -100 * 86_400]);
    t.deepEqual(
      await starts(`?from=${NOW - 6000}&to=${NOW - 90}`),
      [-7200],
      'neither a gap that ended at the start of the window nor one that began at its end',
    );
    t.deepEqual(await starts(`?from=${NOW - 6001}&to=${NOW - 89}`), [-90, -7000, -7200]);
    const pages: number[] = [];
    for (let next: `/v1/service/gaps?${string}` | null = '/v1/service/gaps?limit=1&from=0'; next !== null;) {
      const answer: Answer<AnswerJson<'GET', '/service/gaps'>> = await account.reader('GET', next);
      pages.push(...answer.json['gaps'].map((one) => one.started_at - NOW));
      next = nextPage(answer, '/v1/service/gaps');
    }
    t.deepEqual(pages, [-90, -7000, -7200, -100 * 86_400]);
  },
);

test.serial('invalid windows, numbers and parameters are a 400 that names them', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const refused: [string, RegExp][] = [
    ['?from=10&to=10', /^from must be before to \(10\), got 10$/],
    ['?from=20&to=10', /^from must be before to \(10\), got 20$/],
    [`?from=${NOW + 5}`, /^from must not be in the future/],
    ['?from=0x10', /^from must be a whole number/],
    ['?to=-1', /^to must be/],
    ['?kind=clock', /kind/],
    ['?cursor=abc', /^cursor must come from the Link header/],
    [`?cursor=${Buffer.from('12.inc_1').toString('base64url')}`, /^cursor must come from the Link header/],
  ];
  for (const [query, error] of refused)
    isError(t, await account.reader('GET', `/v1/service/gaps${query}`), { status: 400, error });
  t.is((await api.anonymous('GET', '/v1/service/gaps')).status, 401);
});
