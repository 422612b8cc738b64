import { randomBytes } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { send, withApiServer, type Answer, type ApiServer } from '../api/api-server.ts';
import { listOperations, type DescribedOperation, type Document } from '../helpers/described-operations.ts';
import { furnishAccount, headersOf, type Furnished, type Kind } from './furnished-account.ts';
import { listTextFields, buildRequest, type RequestField, type BuiltRequest } from './request-fields.ts';
import { listRows } from './stored-rows.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

/** Contained in every text of the attacked account, and nowhere else. */
const CANARY = `canary-${randomBytes(8).toString('hex')}`;

/** Fields with ids that belong to no account: those of the public vendor catalog. */
const PUBLIC_IDS = new Set(['vendorId']);

/** Names of id fields. Each such field must declare its kind. */
const ID_NAME = /^ids?$|_ids?$|Ids?$/;

const ANY_ID = /\b(?:mon|mnt|nch|agt|dlv|inc|note|rep|req|ses|usr|tok|inv|aud|blk)_[0-9a-z]{26}\b/g;

/**
 * Reads that show no resource of an account, counts alone, the stream, and the ping key, which is random. The stream
 * starts empty (test/api/live/live.test.ts covers the rest); test/api/heartbeats/slugs.test.ts covers the key.
 */
const OF_EVERYBODY = new Set([
  'listVendors',
  'listServiceGaps',
  'getUsage',
  'getOverviewFigures',
  'watchLive',
  'getPingKey',
]);

/** Reads for operators only, in any account (test/api/agents/fleet.test.ts). */
const OF_OPERATORS = new Set(['/v1/fleet']);

/** Each field takes seven requests, and a token allows 600 a minute. */
const FIELDS_PER_ATTACKER = 40;

type Attack = { field: RequestField; kind: Kind; id: string; request: BuiltRequest; others: 'own' | 'victim' };

async function readServed({ url }: ApiServer): Promise<Document> {
  return (await (await fetch(`${url}/openapi.json`)).json()) as Document;
}

/** Returns every id field of every operation that requires a token. */
function listIdFields(document: Document): RequestField[] {
  return listOperations(document)
    .filter(({ token }) => token !== null)
    .flatMap((operation) => listTextFields(document, operation))
    .filter(({ schema }) => schema['x-id'] !== undefined);
}

/** Returns attacks with each id of the victim in each id field, beside other ids of the attacker and of the victim. */
function listAttacks(document: Document, { victim, attacker }: { victim: Furnished; attacker: Furnished }): Attack[] {
  return listIdFields(document).flatMap((field) => {
    const kind = field.schema['x-id'] as Kind;
    return victim.ids[kind].flatMap((id) =>
      (['own', 'victim'] as const).map((others) => ({
        field,
        kind,
        id,
        others,
        request: buildRequest(field, id, (other) => (others === 'own' ? attacker : victim).ids[other as Kind][0] ?? ''),
      })),
    );
  });
}

async function sendAs(
  { url, database }: ApiServer,
  furnished: Furnished,
  { token, request }: { token: DescribedOperation['token']; request: BuiltRequest },
): Promise<Answer> {
  // Requests, previews and checks are rate-limited, but here each must be answered.
  await database.pool.query(
    `DELETE FROM rate_limits WHERE key ~
     ('^spotcheck-(rate|read|thing|test|channel-test|check|account-check|redelivery|replay|token|agent|bulk|'
        || 'confirmation|address-confirmation|rules|metrics):')`,
  );
  return await send(`${url}${request.path}`, {
    method: request.method,
    body: request.body,
    headers: headersOf(furnished, token),
  });
}

/** Fields that differ between the responses to two equal requests. */
const OWN_FIELDS = new RegExp(
  '"(?:created_at|updated_at|starts_at|ends_at|finished_at|duration_ms' +
    '|token|deep_link|group_deep_link|signing_secret|install_command|url)":[^,}]+',
  'g',
);

/** Returns the content of a response without the ids that were sent or created. */
function sayingOf({ status, text }: Answer, made: readonly string[] = []): string {
  return made
    .reduce((said, id) => said.replaceAll(id, '<id>'), `${status} ${text}`)
    .replaceAll(ANY_ID, '<id>')
    .replaceAll(OWN_FIELDS, '');
}

function nameOf({ field, kind, others }: Attack): string {
  const way = field.way.join('.');
  return `${field.operation.id} with another account's ${kind} at ${field.in} ${way}, the rest ${others}`;
}

test.serial(
  'the API description states the kind of every id in a request, and the fixture has one of each kind',
  async (t) => {
    const { api } = t.context;
    const document = await readServed(api);
    const operations = listOperations(document).filter(({ token }) => token !== null);
    const fields = operations.flatMap((operation) => listTextFields(document, operation));
    const unmarked = fields.filter(({ in: where, way, schema }) => {
      const name = String(way.findLast((step) => typeof step === 'string'));
      return schema['x-id'] === undefined && !PUBLIC_IDS.has(name) && (where === 'path' || ID_NAME.test(name));
    });
    t.deepEqual(
      unmarked.map(({ operation, way }) => `${operation.id} ${way.join('.')}`),
      [],
      'mark them with x-id in api/openapi.yaml',
    );
    const furnished = await furnishAccount(api, 'kinds');
    const kinds = new Set(listIdFields(document).map(({ schema }) => schema['x-id']));
    t.deepEqual(
      [...kinds].filter((kind) => !Object.hasOwn(furnished.ids, kind ?? '')),
      [],
      'make one in test/attackers/furnished-account.ts',
    );
    t.true(kinds.size >= 7 && fields.length > 100);
  },
);

test.serial(
  "in any id field another account's id gets the same response as an unknown one, and changes no row",
  async (t) => {
    const { api } = t.context;
    const document = await readServed(api);
    const before = new Set(await listRows(api));
    const victim = await furnishAccount(api, CANARY);
    const theirs = (await listRows(api)).filter((row) => !before.has(row));
    t.true(theirs.length > 15 && theirs.some((row) => row.includes(CANARY)));
    const attacker = await furnishAccount(api, 'attacker');
    const attacks = listAttacks(document, { victim, attacker });
    t.true(attacks.length > 100);

    for (const attack of attacks) {
      const { field, id, request } = attack;
      const { token, path } = field.operation;
      const unknownId = api.makeId(String(id.split('_')[0]) as 'mon');
      const swapped = JSON.parse(JSON.stringify(request).replaceAll(id, unknownId)) as BuiltRequest;
      const answer = await sendAs(api, attacker, { token, request });
      const toUnknown = await sendAs(api, attacker, { token, request: swapped });
      t.is(sayingOf(answer, [id]), sayingOf(toUnknown, [unknownId]), nameOf(attack));
      if (field.in === 'path' || (attack.others === 'victim' && path.includes('{')))
        t.is(answer.status, 404, nameOf(attack));
      t.false(answer.text.includes(CANARY), nameOf(attack));
      const outcome = { rows: await listRows(api), theirs, saw: nameOf(attack) };
      isUntouched(t, outcome);
      isUnrelated(t, outcome, victim);
    }

    // The victim's own requests succeed, or conflict with a resource's state (409): ownership was the reason for the
    // refusals.
    const own = new Map(
      attacks.filter(({ others }) => others === 'victim').map((attack) => [JSON.stringify(attack.request), attack]),
    );
    // The example's URL is no vendor page, and no monitor can depend on itself.
    const isOdd = ({ field, id }: Attack) =>
      (field.operation.id === 'tryMonitor' && id === victim.ids.monitor[2]) ||
      (field.operation.id === 'updateMonitor' && field.way[0] === 'depends_on' && id === victim.ids.monitor[0]);
    for (const attack of [...own.values()].filter((one) => !isOdd(one)).toSorted((a, b) => turnOf(a) - turnOf(b))) {
      const { status, text } = await sendAs(api, victim, {
        token: attack.field.operation.token,
        request: attack.request,
      });
      t.true(status < 300 || status === 409, `${nameOf(attack)}, of the account itself: ${status} ${text}`);
    }
  },
);

test.serial("another account's id in any other text of a request reveals and changes nothing", async (t) => {
  const { api } = t.context;
  const document = await readServed(api);
  const before = new Set(await listRows(api));
  const victim = await furnishAccount(api, CANARY);
  const theirs = (await listRows(api)).filter((row) => !before.has(row));
  const fields = listOperations(document)
    .filter(({ token }) => token !== null)
    .flatMap((operation) => listTextFields(document, operation))
    .filter(({ schema }) => schema['x-id'] === undefined);
  t.true(fields.length > 60);
  for (let start = 0; start < fields.length; start += FIELDS_PER_ATTACKER) {
    const attacker = await furnishAccount(api, 'attacker');
    for (const field of fields.slice(start, start + FIELDS_PER_ATTACKER)) {
      for (const [id = ''] of Object.values(victim.ids)) {
        const { status, text } = await sendAs(api, attacker, {
          token: field.operation.token,
          request: buildRequest(field, id, (kind) => attacker.ids[kind as Kind][0] ?? ''),
        });
        const saw = `${field.operation.id} with ${id} at ${field.in} ${field.way.join('.')}: ${status} ${text}`;
        t.true(status < 500, saw);
        t.false(text.includes(CANARY), saw);
      }
      isUntouched(t, { rows: await listRows(api), theirs, saw: `${field.operation.id} at ${field.way.join('.')}` });
    }
  }
});

test.serial('lists contain nothing of another account', async (t) => {
  const { api } = t.context;
  const victim = await furnishAccount(api, CANARY);
  const attacker = await furnishAccount(api, 'attacker');
  // Reads with a required name are attacked above, through that name.
  const lists = listOperations(await readServed(api)).filter(
    ({ method, path, token, parameters }) =>
      method === 'GET' &&
      (token === 'api' || token === 'session') &&
      !path.includes('{') &&
      !OF_OPERATORS.has(path) &&
      !parameters.some(({ required }) => required),
  );
  t.true(lists.length >= 9);
  const ids = Object.values(victim.ids).flat();
  for (const { id, path, token } of lists) {
    const ask = async ({ account, person }: Furnished) =>
      await (token === 'session' ? person.call : account.reader)('GET', path);
    const [own, foreign] = [await ask(victim), await ask(attacker)];
    t.true(own.text.includes(CANARY) || OF_EVERYBODY.has(id), `${id}: ${own.text}`);
    t.is(foreign.status, 200);
    t.false(foreign.text.includes(CANARY), id);
    t.deepEqual(
      ids.filter((one) => foreign.text.includes(one)),
      [],
      id,
    );
  }
});

type AttackOutcome = { rows: readonly string[]; theirs: readonly string[]; saw: string };

/** Asserts that all of the victim's rows are unchanged. */
function isUntouched(t: ExecutionContext<{ api: ApiServer }>, { rows, theirs, saw }: AttackOutcome): void {
  const present = new Set(rows);
  t.deepEqual(
    theirs.filter((row) => !present.has(row)),
    [],
    saw,
  );
}

/** Asserts that no new row refers to a resource of the victim, by its id or its number. */
function isUnrelated(
  t: ExecutionContext<{ api: ApiServer }>,
  { rows, theirs, saw }: AttackOutcome,
  victim: Furnished,
): void {
  const known = new Set(theirs);
  const ids = Object.values(victim.ids).flat();
  const numbers = new RegExp(
    `"monitor_no": (?:${victim.numbers.monitor.join('|')})\\b|"agent_no": (?:${victim.numbers.agent.join('|')})\\b`,
  );
  t.deepEqual(
    rows.filter((row) => !known.has(row) && (numbers.test(row) || ids.some((id) => row.includes(id)))),
    [],
    saw,
  );
}

/**
 * Returns the order of an attack: changes come late, then deletions, the deepest first, so that every resource still
 * exists.
 */
function turnOf({ field: { operation } }: Attack): number {
  if (operation.method === 'DELETE') return 1000 - operation.path.length;
  // Rotation invalidates a token, so it follows all requests that use it.
  if (operation.id === 'rotateAgentToken') return 2;
  return operation.method === 'PATCH' ? 1 : 0;
}
