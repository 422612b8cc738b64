import anyTest, { type TestFn } from 'ava';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { randomInt } from 'node:crypto';
import { pino } from 'pino';
import { readDescription } from '../../api/description.ts';
import { createApiToken, generateToken } from '../../models/api-tokens.ts';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { furnishAccount, type Furnished } from '../attackers/furnished-account.ts';
import { createAnswerCheck } from '../helpers/described-answers.ts';
import { listOperations, type DescribedOperation, type Document } from '../helpers/described-operations.ts';
import { connectInProcess, type InProcessAnswer, type InProcessRequest } from '../helpers/in-process.ts';
import { storiesOf, type DraftRequest, type Story } from './request-stories.ts';
import { ID_MARK } from './schema-values.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;

/** A count of requests a minute in each process, as while Redis is away: that they are counted is shown elsewhere. */
const away = new Redis({ lazyConnect: true });
/** What went wrong inside, for the report of an answer 500. */
const errors: string[] = [];
const logger = pino({ level: 'error' }, { write: (line: string) => void errors.push(line) });
withApiServer(test, { rateLimitStore: { kind: 'redis', client: away }, logger });

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 10_000);
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));

/** Requests of a story, which come one after the other. */
const STORY = 25;

/** Accounts that are busy at a time: each waits for PostgreSQL, and what they ask goes out together. */
const AT_ONCE = 16;

/** Stories of a test: one that takes all of them would look like one that hangs. Accounts come with each with a new token, as one is good for 600 requests a minute. */
const STORIES_PER_PART = 100;

/** After as many parts accounts are new: what cannot be made by a request has been deleted in the old ones by then. */
const PARTS_PER_ACCOUNT = 4;

/** Below, chance may leave an operation without a good request. */
const ENOUGH = 10_000;

type Teller = { furnished: Furnished; token: string; pools: Record<string, string[]> };
type Fuzz = { operations: DescribedOperation[]; stories: Story[]; problemOf: Awaited<ReturnType<typeof createAnswerCheck>>; answered: Map<string, number> };

let fuzz: Fuzz | null = null;
let tellers: Teller[] = [];

test.before(async () => {
  const document = (await readDescription()) as unknown as Document;
  const operations = listOperations(document);
  const stories = fc.sample(storiesOf(document, operations, STORY), { seed: SEED, numRuns: Math.ceil(REQUESTS / STORY) });
  fuzz = { operations, stories, problemOf: await createAnswerCheck(), answered: new Map() };
});

for (let start = 0; start < REQUESTS / STORY; start += STORIES_PER_PART) {
  test.serial(`no request made from the description, good or broken, has a fault for an answer, and each answer is as described: from ${start * STORY} of FUZZ_SEED=${SEED}`, async (t) => {
    t.timeout(110_000);
    const { api } = t.context;
    const { send, close } = connectInProcess(api.server);
    t.teardown(close);
    const faults: string[] = [];
    const shares = (fuzz?.stories ?? []).slice(start, start + STORIES_PER_PART).map((story, index) => ({ story, number: start + index }));
    if ((start / STORIES_PER_PART) % PARTS_PER_ACCOUNT === 0) tellers = await Promise.all(Array.from({ length: AT_ONCE }, (_, lane) => makeTeller(api, `fuzz-${start}-${lane}`)));
    await Promise.all(
      tellers.map(async (teller, lane) => {
        await renewToken(api, teller);
        for (const { story, number } of shares.filter((_, index) => index % AT_ONCE === lane)) faults.push(...(await tell(teller, { story, number, send })));
      }),
    );
    t.deepEqual(faults.slice(0, 10), [], `again with FUZZ_SEED=${SEED} FUZZ_REQUESTS=${REQUESTS}`);
  });
}

test.serial('every operation was asked for well at least once: requests that never get past the door would prove little', (t) => {
  const { operations = [], answered = new Map<string, number>() } = fuzz ?? {};
  const good = new Set([...answered.keys()].filter((key) => / 2\d\d$/.test(key)).map((key) => key.split(' ')[0]));
  t.log([...answered].toSorted().map(([key, count]) => `${key}: ${count}`).join(', '));
  t.deepEqual(REQUESTS < ENOUGH ? [] : operations.filter(({ id }) => !good.has(id)).map(({ id }) => id), []);
});

async function makeTeller(api: ApiServer, mark: string): Promise<Teller> {
  const furnished = await furnishAccount(api, mark);
  return { furnished, token: furnished.account.ownerToken, pools: { ...furnished.ids, token: [] } };
}

async function renewToken({ database, makeId }: ApiServer, teller: Teller): Promise<void> {
  teller.token = generateToken('spk');
  await createApiToken(database, { id: makeId('tok'), tenantId: teller.furnished.account.tenantId, name: 'fuzz', token: teller.token, scopes: ['read', 'write'], expiresAt: null, nowMs: Date.now() }, 100);
}

type Told = { story: Story; number: number; send: (request: InProcessRequest) => Promise<InProcessAnswer> };

/** Sends the requests of a story; what was wrong with the answers. */
async function tell(teller: Teller, { story, number, send }: Told): Promise<string[]> {
  const faults: string[] = [];
  for (const draft of story) {
    const request = addressed(draft, teller);
    const answer = await send(request);
    const problem = faultOf(answer) ?? fuzz?.problemOf({ method: request.method, path: request.path.split('?')[0] ?? '', status: answer.status, contentType: answer.headers['content-type'] ?? null, body: answer.text }) ?? null;
    if (problem !== null) faults.push(`story ${number}: ${JSON.stringify(request)} was answered ${answer.status}: ${problem}: ${answer.text.slice(0, 500)} ${errors.at(-1)?.slice(0, 1000) ?? ''}`);
    const key = `${draft.operation.id} ${answer.status}`;
    if (request.method === draft.operation.method) fuzz?.answered.set(key, (fuzz.answered.get(key) ?? 0) + 1);
    learn(teller, draft, answer);
  }
  return faults;
}

function addressed({ operation, method, path, query, body, contentType, bearer }: DraftRequest, { furnished: { account, agent }, token, pools }: Teller): InProcessRequest {
  const filled = (text: string) => text.replaceAll(ID_MARK, (_, kind: string, index: string) => pools[kind]?.[Number(index) % Math.max(1, pools[kind].length)] ?? 'mon_none');
  const tokens = operation.token === 'agent' ? { own: agent.token, reader: account.readerToken, other: token } : { own: token, reader: account.readerToken, other: agent.token };
  return {
    method,
    path: filled(query === '' ? path : `${path}?${query}`),
    headers: { ...(bearer !== 'none' && { Authorization: `Bearer ${tokens[bearer]}` }), ...(body !== undefined && contentType !== '' && { 'Content-Type': contentType }) },
    ...(body !== undefined && { body: filled(body) }),
  };
}

/** What no answer may be, described or not. */
function faultOf({ status, headers, text }: InProcessAnswer): string | null {
  if (status >= 500) return 'a fault of ours';
  if (status >= 400 && text !== '' && !(headers['content-type'] ?? '').startsWith('application/json')) return 'an error that is no JSON';
  if (status >= 400 && text !== '' && !/^\{"error":".+","request_id":"req_\w+"\}$/s.test(text)) return 'an error of another form';
  return null;
}

/** Things that were made can be asked for, changed and deleted by what follows. */
function learn({ pools }: Teller, { operation }: DraftRequest, { status, text }: InProcessAnswer): void {
  if (status === 201) {
    const { id } = JSON.parse(text) as { id: string };
    const kind = { createMonitor: 'monitor', createChannel: 'channel', addIncidentNote: 'note' }[operation.id];
    if (kind !== undefined) pools[kind]?.push(id);
  }
  const token = operation.id === 'getMonitor' && status === 200 ? /"heartbeat":\{"token":"([^"]+)"/.exec(text)?.[1] : undefined;
  if (token !== undefined) pools['token']?.push(token);
}
