import { randomBytes } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { send, withApiServer, type Answer, type ApiServer } from '../api/api-server.ts';
import { listOperations, type DescribedOperation, type Document } from '../helpers/described-operations.ts';
import { furnishAccount, headersOf, type Furnished, type Kind } from './furnished-account.ts';
import { listTextFields, buildRequest, type RequestField, type BuiltRequest } from './request-fields.ts';
import { listRows } from './stored-rows.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

/** In every text of the account that is attacked, and in nothing else. */
const CANARY = `canary-${randomBytes(8).toString('hex')}`;

/** Names of fields that are ids without an account: those of the public catalog of vendors. */
const PUBLIC_IDS = new Set(['vendorId']);

/** How ids are called. What is called so must say of what kind it is. */
const ID_NAME = /^ids?$|_ids?$|Ids?$/;

const ANY_ID = /\b(?:mon|mnt|nch|agt|dlv|inc|note|rep|req|ses|usr|tok|inv|aud|blk)_[0-9a-z]{26}\b/g;

/**
 * Lists that show no account's things, counts alone, the stream, and the ping key, which is random. The stream begins
 * without any (test/api/live/live.test.ts holds what comes after); test/api/heartbeats/slugs.test.ts tries the key.
 */
const OF_EVERYBODY = new Set([
  'listVendors',
  'listServiceGaps',
  'getUsage',
  'getOverviewFigures',
  'watchLive',
  'getPingKey',
]);

/** For nobody who is no operator, whoever's account it is (test/api/agents/fleet.test.ts). */
const OF_OPERATORS = new Set(['/v1/fleet']);

/** Seven requests each, and 600 a minute for one token. */
const FIELDS_PER_ATTACKER = 40;

type Attack = { field: RequestField; kind: Kind; id: string; request: BuiltRequest; others: 'own' | 'victim' };

async function readServed({ url }: ApiServer): Promise<Document> {
  return (await (await fetch(`${url}/openapi.json`)).json()) as Document;
}

/** Every field of an id in every operation that needs a token. */
function listIdFields(document: Document): RequestField[] {
  return listOperations(document)
    .filter(({ token }) => token !== null)
    .flatMap((operation) => listTextFields(document, operation))
    .filter(({ schema }) => schema['x-id'] !== undefined);
}

/** Each id of the victim's in each field of an id, with the attacker's own ids beside it and with the victim's. */
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
  // Requests, previews and checks have so many turns a minute: here each of them is to be answered.
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

/** What differs between the answers to two requests that are alike. */
const OWN_FIELDS = new RegExp(
  '"(?:created_at|updated_at|starts_at|ends_at|finished_at|duration_ms' +
    '|token|deep_link|group_deep_link|signing_secret|install_command|url)":[^,}]+',
  'g',
);

/** What an answer says, whatever ids it was asked with and made. */
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
  'the description says of every id in a request what it is the id of, and there is one of each kind to attack with',
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
  'an id of another account is as good as one that never was: the same answer, no row changed, nobody notified, ' +
    'wherever a request can name it',
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

    // The same requests of the victim's own succeed, or find the thing in a state of its own (409): what was refused
    // was refused for whose it is.
    const own = new Map(
      attacks.filter(({ others }) => others === 'victim').map((attack) => [JSON.stringify(attack.request), attack]),
    );
    // The address of the example is no vendor's page, and no monitor depends on itself.
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

test.serial('in no other text of a request does an id of another account open, change or tell anything', async (t) => {
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

test.serial('lists of another account hold nothing of it', async (t) => {
  const { api } = t.context;
  const victim = await furnishAccount(api, CANARY);
  const attacker = await furnishAccount(api, 'attacker');
  // What cannot be asked without naming something is attacked above, by what it names.
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

/** That every row of the victim's is there as it was. */
function isUntouched(t: ExecutionContext<{ api: ApiServer }>, { rows, theirs, saw }: AttackOutcome): void {
  const present = new Set(rows);
  t.deepEqual(
    theirs.filter((row) => !present.has(row)),
    [],
    saw,
  );
}

/** That no new row refers to a thing of the victim's, by its id or its short number. */
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

/** Changes last, and deletions after them, what is deepest first: nothing is asked for that is not there any more. */
function turnOf({ field: { operation } }: Attack): number {
  if (operation.method === 'DELETE') return 1000 - operation.path.length;
  // What ends a token, after all who come with it.
  if (operation.id === 'rotateAgentToken') return 2;
  return operation.method === 'PATCH' ? 1 : 0;
}
