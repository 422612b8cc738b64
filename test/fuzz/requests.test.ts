import { randomInt } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { readDescription } from '../../api/description.ts';
import { createApiToken, generateToken } from '../../models/accounts/api-tokens.ts';
import { findUserByEmail } from '../../models/accounts/users.ts';
import { openIdOf } from '../api/accounts/open-id/open-id-sign-in.ts';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { addSession } from '../api/person.ts';
import { furnishAccount, type Furnished } from '../attackers/furnished-account.ts';
import { createAnswerCheck } from '../helpers/described-answers.ts';
import { listOperations, type DescribedOperation, type Document } from '../helpers/described-operations.ts';
import { connectInProcess, type InProcessAnswer, type InProcessRequest } from '../helpers/in-process.ts';
import { startOpenIdProvider } from '../helpers/open-id-provider.ts';
import { totpCode } from '../helpers/totp.ts';
import { storiesOf, type DraftRequest, type Story } from './request-stories.ts';
import { ID_MARK } from './schema-values.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;

/** An unreachable Redis, so that each process counts requests itself; other tests show that they are counted. */
const away = new Redis({ lazyConnect: true });
/** Logged errors, for the report of a 500 response. */
const errors: string[] = [];
const logger = pino({ level: 'error' }, { write: (line: string) => void errors.push(line) });
/** Contacted before the requests: redirects to an unreachable provider are answered with 503. */
const provider = await startOpenIdProvider();
const openId = openIdOf(provider);
await openId.authorizeUrl({ state: 's', nonce: 'n', verifier: 'v'.repeat(43) }, 'http://127.0.0.1/');
withApiServer(test, { rateLimitStore: { kind: 'redis', client: away }, logger, openId });
test.after.always(() => provider.close());

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 10_000);
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));

/** Requests per story, sent in sequence. */
const STORY = 25;

/** Concurrent accounts: each waits for PostgreSQL, so their requests are sent together. */
const AT_ONCE = 16;

/**
 * Stories per test: a single test with all of them would look hung. Accounts get a new token for each part, as a token
 * allows 600 requests a minute.
 */
const STORIES_PER_PART = 100;

/** Parts after which accounts are replaced: by then, resources that no request can create have been deleted. */
const PARTS_PER_ACCOUNT = 4;

/** Number of requests below which some operation may by chance have no valid one. */
const ENOUGH = 10_000;

/**
 * `session` holds the headers of the account's user; `secret` is the key of their TOTP codes, null without a second
 * factor.
 */
type FuzzAccount = {
  furnished: Furnished;
  token: string;
  session: Record<string, string>;
  secret: string | null;
  pools: Record<string, string[]>;
};
type Fuzz = {
  operations: DescribedOperation[];
  stories: Story[];
  problemOf: Awaited<ReturnType<typeof createAnswerCheck>>;
  answered: Map<string, number>;
};

let fuzz: Fuzz | null = null;
let fuzzAccounts: FuzzAccount[] = [];

test.before(async () => {
  const document = (await readDescription()) as unknown as Document;
  const operations = listOperations(document);
  const stories = fc.sample(storiesOf(document, operations, STORY), {
    seed: SEED,
    numRuns: Math.ceil(REQUESTS / STORY),
  });
  fuzz = { operations, stories, problemOf: await createAnswerCheck(), answered: new Map() };
});

for (let start = 0; start < REQUESTS / STORY; start += STORIES_PER_PART) {
  test.serial(
    'no generated request, valid or broken, causes a 5xx, and every response matches the description: ' +
      `from ${start * STORY} of FUZZ_SEED=${SEED}`,
    async (t) => {
      const { api } = t.context;
      // Wrong passwords are counted by address, too: each account has a different one in each part.
      const connections = Array.from({ length: AT_ONCE }, (_, lane) =>
        connectInProcess(api.server, `10.${(start / STORIES_PER_PART) % 256}.${lane}.1`),
      );
      t.teardown(() => connections.forEach(({ close }) => close()));
      const faults: string[] = [];
      const shares = (fuzz?.stories ?? [])
        .slice(start, start + STORIES_PER_PART)
        .map((story, index) => ({ story, number: start + index }));
      if ((start / STORIES_PER_PART) % PARTS_PER_ACCOUNT === 0)
        fuzzAccounts = await Promise.all(
          Array.from({ length: AT_ONCE }, (_, lane) => createFuzzAccount(api, `fuzz-${start}-${lane}`)),
        );
      await Promise.all(
        fuzzAccounts.map(async (fuzzAccount, lane) => {
          const connection = connections[lane];
          if (connection === undefined) throw new Error('A lane without a connection');
          await renewToken(api, fuzzAccount);
          for (const { story, number } of shares.filter((_, index) => index % AT_ONCE === lane))
            faults.push(...(await sendStory(fuzzAccount, { story, number, send: connection.send, api })));
        }),
      );
      t.deepEqual(faults.slice(0, 10), [], `again with FUZZ_SEED=${SEED} FUZZ_REQUESTS=${REQUESTS}`);
    },
  );
}

test.serial('every operation succeeded at least once, so the requests get past the route guard', (t) => {
  const { operations = [], answered = new Map<string, number>() } = fuzz ?? {};
  const good = new Set([...answered.keys()].filter((key) => / 2\d\d$/.test(key)).map((key) => key.split(' ')[0]));
  t.log(
    [...answered]
      .toSorted()
      .map(([key, count]) => `${key}: ${count}`)
      .join(', '),
  );
  t.deepEqual(REQUESTS < ENOUGH ? [] : operations.filter(({ id }) => !good.has(id)).map(({ id }) => id), []);
});

async function createFuzzAccount(api: ApiServer, mark: string): Promise<FuzzAccount> {
  const furnished = await furnishAccount(api, mark);
  const { person, account, ids } = furnished;
  await api.database.pool.query('UPDATE users SET is_operator = true WHERE id = $1', [person.user.id]);
  return {
    furnished,
    token: account.ownerToken,
    session: person.headers,
    secret: null,
    pools: {
      ...ids,
      token: [],
      link: ['none'],
      email: [person.email],
      password: [person.password, 'another-good-password'],
      code: ['000000', '000000'],
    },
  };
}

async function renewToken({ database, makeId }: ApiServer, fuzzAccount: FuzzAccount): Promise<void> {
  fuzzAccount.token = generateToken('spk');
  await createApiToken(
    database,
    {
      id: makeId('tok'),
      tenantId: fuzzAccount.furnished.account.tenantId,
      name: 'fuzz',
      token: fuzzAccount.token,
      scopes: ['read', 'write'],
      expiresAt: null,
      nowMs: Date.now(),
      author: null,
    },
    100,
  );
}

type StoryRun = {
  story: Story;
  number: number;
  send: (request: InProcessRequest) => Promise<InProcessAnswer>;
  api: ApiServer;
};

/** Sends the requests of a story and returns the faults in the responses. */
async function sendStory(fuzzAccount: FuzzAccount, { story, number, send, api }: StoryRun): Promise<string[]> {
  const faults: string[] = [];
  for (const draft of story) {
    const request = addressed(draft, fuzzAccount);
    const answer = await send(request);
    const problem =
      faultOf(answer) ??
      fuzz?.problemOf({
        method: request.method,
        path: request.path.split('?')[0] ?? '',
        status: answer.status,
        contentType: answer.headers['content-type'] ?? null,
        body: answer.text,
      }) ??
      null;
    if (problem !== null)
      faults.push(
        `story ${number}: ${JSON.stringify(request)} was answered ${answer.status}: ${problem}: ` +
          `${answer.text.slice(0, 500)} ${errors.at(-1)?.slice(0, 1000) ?? ''}`,
      );
    const key = `${draft.operation.id} ${answer.status}`;
    if (request.method === draft.operation.method) fuzz?.answered.set(key, (fuzz.answered.get(key) ?? 0) + 1);
    learn(fuzzAccount, request, { operationId: draft.operation.id, ...answer });
    if (draft.operation.token === 'session' && answer.status === 401) await signInAnew(api, fuzzAccount);
  }
  return faults;
}

function addressed(
  { operation, method, path, query, body, contentType, bearer }: DraftRequest,
  { furnished: { account, agent }, token, session, secret, pools }: FuzzAccount,
): InProcessRequest {
  if (secret !== null)
    pools['code'] = [totpCode(secret, Math.floor(Date.now() / 30_000)), ...(pools['code'] ?? []).slice(1)];
  const filled = (text: string) =>
    text.replaceAll(
      ID_MARK,
      (_, kind: string, index: string) => pools[kind]?.[Number(index) % Math.max(1, pools[kind].length)] ?? 'mon_none',
    );
  const tokens =
    operation.token === 'agent'
      ? { own: agent.token, reader: account.readerToken, other: token }
      : { own: token, reader: account.readerToken, other: agent.token };
  return {
    method,
    path: filled(query === '' ? path : `${path}?${query}`),
    headers: {
      ...(operation.token === 'session' && bearer === 'own'
        ? session
        : bearer !== 'none' && { Authorization: `Bearer ${tokens[bearer]}` }),
      ...(body !== undefined && contentType !== '' && { 'Content-Type': contentType }),
    },
    ...(body !== undefined && { body: filled(body) }),
  };
}

/** Signs an account in again once its session has ended; otherwise later session operations would all get a 401. */
async function signInAnew(api: ApiServer, fuzzAccount: FuzzAccount): Promise<void> {
  const user = await findUserByEmail(api.database, fuzzAccount.furnished.person.email);
  if (user !== null) fuzzAccount.session = (await addSession(api, user)).headers;
}

/** Returns the fault of a response that is never allowed, whether described or not; null if there is none. */
function faultOf({ status, headers, text }: InProcessAnswer): string | null {
  if (status >= 500) return 'a fault of ours';
  if (status >= 400 && text !== '' && !(headers['content-type'] ?? '').startsWith('application/json'))
    return 'an error that is no JSON';
  if (
    status >= 400 &&
    text !== '' &&
    !/^\{"error":".+","request_id":"req_\w+"(?:,"code_required":true)?\}$/s.test(text)
  )
    return 'an error of another form';
  return null;
}

/**
 * Adds created resources to the pools, so that later requests can read, change and delete them. Keeps passwords and
 * codes up to date.
 */
function learn(
  fuzzAccount: FuzzAccount,
  { body }: InProcessRequest,
  { operationId, status, text }: { operationId: string; status: number; text: string },
): void {
  const { pools } = fuzzAccount;
  if (status === 201) {
    const { id, session_id: session } = JSON.parse(text) as { id?: string; session_id?: string };
    const kind = {
      createMonitor: 'monitor',
      createChannel: 'channel',
      addIncidentNote: 'note',
      signIn: 'session',
      createToken: 'api_token',
      createAgent: 'agent',
      createInvitation: 'invitation',
    }[operationId];
    if (kind !== undefined) pools[kind]?.push(id ?? session ?? '');
    if (operationId === 'createInvitation')
      pools['link'] = [(JSON.parse(text) as { url: string }).url.split('/').at(-1) ?? ''];
  }
  const token =
    operationId === 'getMonitor' && status === 200 ? /"heartbeat":\{"token":"([^"]+)"/.exec(text)?.[1] : undefined;
  if (token !== undefined) pools['token']?.push(token);
  if (status !== 200) return;
  if (operationId === 'changePassword')
    pools['password'] = [(JSON.parse(body ?? '{}') as { new: string }).new, ...(pools['password'] ?? [])];
  if (operationId === 'startTotp') fuzzAccount.secret = (JSON.parse(text) as { secret: string }).secret;
  if (operationId === 'confirmTotp' || operationId === 'renewRecoveryCodes')
    pools['code'] = ['000000', ...(JSON.parse(text) as { recovery_codes: string[] }).recovery_codes];
}
