import anyTest, { type TestFn } from 'ava';
import { ROUTES } from '../../../api/routes.ts';
import { AUDIT_ACTIONS, AUDIT_OBJECTS } from '../../../core/accounts/audit-entry.ts';
import { createInvitation, generateInvitationToken } from '../../../models/accounts/invitations.ts';
import { findUserByEmail } from '../../../models/accounts/users.ts';
import { applyChatUpdate, disconnectChannel } from '../../../models/alerts/chat-connections.ts';
import { createWindow } from '../../../models/maintenance/windows.ts';
import { inTransaction } from '../../../models/sql.ts';
import { furnishAccount, type Furnished, type Kind } from '../../attackers/furnished-account.ts';
import { buildRequest } from '../../attackers/request-fields.ts';
import { listRows } from '../../attackers/stored-rows.ts';
import { pingTokenOf } from '../../helpers/api-client.ts';
import { listOperations, type DescribedOperation, type Document } from '../../helpers/described-operations.ts';
import { totpCode } from '../../helpers/totp.ts';
import { isError, send, type Answer, type ApiServer } from '../api-server.ts';
import { addPerson, addSession, PASSWORD, type Person } from '../person.ts';
import { withOpenId } from './open-id/open-id-sign-in.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
await withOpenId(test);

type Entry = {
  id: string;
  at: number;
  actor: { kind: string; id: string | null; name: string };
  action: string;
  object: { kind: string; id: string; name: string };
  changes: Record<string, unknown>;
  address: string | null;
};

/** An account with its user's current credentials. `secrets` collects every secret that was sent or shown. */
type Stage = Furnished & {
  api: ApiServer;
  password: string;
  totpSecret: string;
  codes: string[];
  invitation: string;
  secrets: Set<string>;
};

const NEW_PASSWORD = 'another-good-long-password';
const WEBHOOK_SECRET = 'path-that-is-a-secret-9f2c';

/** Bodies for operations for which the description's example is not enough, and their preparation. */
const BODIES: Readonly<Record<string, (stage: Stage) => unknown>> = {
  createMonitor: () => ({
    name: 'Made',
    target: 'https://made.example/',
    check_spec: {
      request: {
        secretHeaders: { 'X-Key': 'secret-header-5b1d' },
        auth: { type: 'basic', username: 'ada', password: 'secret-auth-5b1d' },
        bodySecret: true,
        body: 'secret-body-5b1d',
      },
    },
  }),
  updateMonitor: () => ({
    name: 'Renamed',
    interval_seconds: 300,
    check_spec: {
      request: {
        secretHeaders: { 'X-Key': 'secret-header-77aa' },
        auth: { type: 'bearer', token: 'secret-auth-77aa' },
      },
    },
  }),
  createChannel: () => ({ type: 'webhook', name: 'Ops', url: `https://hooks.example/${WEBHOOK_SECRET}` }),
  updateChannel: () => ({ name: 'Renamed', all_monitors: false, monitor_ids: [] }),
  updateAgent: () => ({ name: 'Renamed', tags: ['lab'] }),
  updateMember: () => ({ role: 'viewer' }),
  replayDeliveries: () => ({ since: 0 }),
  retireRegion: () => ({ region: 'hanoi' }),
  muteMonitor: () => ({ until: Math.floor(Date.now() / 1000) + 3600 }),
  snoozeIncident: () => ({ until: Math.floor(Date.now() / 1000) + 3600 }),
  signIn: ({ person, password }) => ({ email: person.email, password }),
  updateUser: () => ({ name: 'Ada Lovelace', theme: 'dark' }),
  changePassword: ({ password }) => ({ current: password, new: NEW_PASSWORD }),
  startOpenIdSignIn: () => ({}),
  startIdentityLink: ({ password }) => ({ password }),
  startTotp: ({ password }) => ({ password }),
  confirmTotp: ({ totpSecret }) => ({ code: totpCode(totpSecret, Math.floor(Date.now() / 30_000)) }),
  removeTotp: ({ password, codes }) => ({ password, code: codes.shift() }),
  renewRecoveryCodes: ({ password, codes }) => ({ password, code: codes.shift() }),
  acceptInvitation: ({ invitation }) => ({ token: invitation, name: 'Guest', password: NEW_PASSWORD }),
};

/** A maintenance window that is in progress. */
const PLANNED = {
  key: null,
  name: 'marked',
  description: '',
  allMonitors: true,
  monitorIds: [],
  tags: [],
  localStart: null,
  timezone: 'UTC',
  durationSeconds: 3600,
  cron: null,
  rrule: 'FREQ=DAILY',
  alerts: 'hold',
  sla: 'exclude',
  settleSeconds: 0,
} as const;

/** Preparation that an operation needs before it changes anything. */
const BEFORE: Readonly<Record<string, (stage: Stage) => Promise<unknown>>> = {
  retireRegion: ({ api, person }) =>
    api.database.pool.query('UPDATE users SET is_operator = true WHERE id = $1', [person.user.id]),
  redeliver: ({ api, ids }) =>
    api.database.pool.query(`UPDATE deliveries SET outcome = 'failed', finished_at = 1 WHERE id = $1`, [
      ids.delivery[0],
    ]),
  startDrill: ({ api }) => api.database.pool.query('UPDATE channels SET all_monitors = true'),
  endSession: async (stage) => (stage.ids.session = [await addSecondSession(stage)]),
  acceptInvitation: ({ api, account, person, invitation }) =>
    createInvitation(api.database, {
      id: api.makeId('inv'),
      tenantId: account.tenantId,
      email: 'guest@example.org',
      role: 'viewer',
      token: invitation,
      invitedBy: person.user.id,
      nowMs: Date.now(),
      author: null,
    }),
  endOtherSessions: (stage) => addSecondSession(stage),
  extendMaintenanceWindow: async (stage) => {
    const nowMs = Date.now();
    const { window } = await createWindow(stage.api.database, {
      ...PLANNED,
      id: stage.api.makeId('mnt'),
      tenantId: stage.account.tenantId,
      startsAt: Math.floor(nowMs / 1000),
      createdAt: Math.floor(nowMs / 1000),
      author: null,
      nowMs,
    });
    stage.ids.maintenance = [window.id];
  },
};

test.serial(
  'every changing operation writes one entry with actor and address, and changes nothing if that write fails',
  async (t) => {
    const { api } = t.context;
    const stage: Stage = {
      ...(await furnishAccount(api, 'marked')),
      api,
      password: PASSWORD,
      totpSecret: '',
      codes: [],
      invitation: generateInvitationToken(),
      secrets: new Set(),
    };
    await api.database.pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the log is full'; END $$`,
    );
    t.teardown(() => api.database.pool.query('DROP TRIGGER refuse ON audit_log'));
    await api.database.pool.query(
      'CREATE TRIGGER refuse BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse()',
    );
    const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as Document;
    const operations = listOperations(document).filter(
      ({ method, path, token }) => method !== 'GET' && path.startsWith('/v1/') && token !== 'agent',
    );
    t.true(operations.length >= 38);
    const actions = new Map(
      Object.entries(ROUTES).map(([id, route]) => [id, 'records' in route ? route.records : null]),
    );
    const done: string[] = [];
    for (const operation of operations.toSorted((a, b) => turnOf(a) - turnOf(b))) {
      await BEFORE[operation.id]?.(stage);
      const action = actions.get(operation.id) ?? null;
      if (action !== null) {
        const before = await stateOf(api);
        t.is((await perform(stage, operation)).status, 500, operation.id);
        const after = await stateOf(api);
        // The test delivery to the new URL was sent, and stays in the delivery log.
        if (operation.id === 'updateWebhook')
          for (const row of after)
            if (/^deliver(?:ies|y_attempts) .*dlv_/.test(row) && !before.has(row)) after.delete(row);
        t.deepEqual(
          [...after].filter((row) => !before.has(row)),
          [],
          `${operation.id} without an entry`,
        );
        t.is(after.size, before.size, `${operation.id} without an entry`);
      }
      const known = new Set((await entriesOf(stage)).map(({ id }) => id));
      const answer = await letWrite(api, () => perform(stage, operation));
      t.true(answer.status < 300, `${operation.id}: ${answer.status} ${answer.text}`);
      const made = (await entriesOf(stage)).filter(({ id }) => !known.has(id));
      t.deepEqual(
        made.map((entry) => entry.action),
        action === null ? [] : [action],
        operation.id,
      );
      for (const entry of made) {
        t.is(entry.address, '127.0.0.1');
        t.true(Math.abs(entry.at - Date.now() / 1000) < 60);
        t.regex(
          entry.actor.name,
          operation.token === 'api'
            ? /^test$/
            : operation.id === 'acceptInvitation'
              ? /^Guest \(guest@example.org\)$/
              : /marked-usr_.*@example.org/,
        );
        t.is(entry.actor.kind, operation.token === 'api' ? 'token' : 'user');
        t.truthy(entry.object.name, operation.id);
      }
      learn(stage, operation, answer);
      done.push(operation.id);
    }
    t.true(done.indexOf('signOut') === done.length - 1);
    const { rows } = await api.database.pool.query<{ row: string }>('SELECT to_jsonb(a)::text AS row FROM audit_log a');
    const text = rows.map(({ row }) => row).join('\n');
    t.true(stage.secrets.size > 25, [...stage.secrets].join(' '));
    for (const secret of stage.secrets) t.false(text.includes(secret), secret);
  },
);

test.serial(
  'refused requests and no-ops write no entry, and changes are listed by field, with secrets only as changed',
  async (t) => {
    const { api } = t.context;
    const { account, ids, person } = await furnishAccount(api, 'quiet');
    const [id = ''] = ids.monitor;
    const log = async () => entriesIn(await person.call('GET', '/v1/audit-log'));
    const before = await log();
    const channel = `/v1/channels/${ids.channel[0]}`;
    const colleague = await addPerson(api, account.tenantId, { role: 'viewer', mark: 'colleague' });
    const quiet = [
      await account.owner('PATCH', `/v1/monitors/${id}`, { interval_seconds: 0 }),
      await account.reader('PATCH', `/v1/monitors/${id}`, { name: 'By a reader' }),
      await colleague.call('POST', '/v1/monitors', { name: 'By a viewer' }),
      await account.owner('DELETE', '/v1/monitors/mon_01kb0000000000000000000000'),
      await account.owner('POST', `/v1/monitors/${id}/resume`),
      await account.owner('PATCH', channel, { name: 'channel quiet' }),
      await account.owner('DELETE', `/v1/incidents/${ids.incident[0]}/acknowledge`),
      await person.call('PATCH', '/v1/user', { name: 'quiet' }),
      await person.call('PATCH', `/v1/members/${person.user.id}`, { role: 'owner' }),
      await person.call('PATCH', `/v1/members/${person.user.id}`, { role: 'viewer' }),
      await person.call('POST', '/v1/sessions/end-others').then(() => person.call('POST', '/v1/sessions/end-others')),
    ];
    t.deepEqual(
      quiet.map(({ status }) => status),
      [400, 403, 403, 404, 200, 200, 200, 200, 200, 409, 200],
    );
    const [ended, ...rest] = await log();
    t.is(ended?.action, 'member.other_sessions_ended');
    t.deepEqual(rest, before);

    const sla = { target: 99.5, timezone: 'Europe/Berlin', hours: 'Mo-Fr 08:00-20:00' };
    const spec = {
      request: {
        headers: { 'X-Mark': 'other' },
        secretHeaders: { 'X-Secret': 'quiet' },
        auth: { type: 'bearer', token: 'another' },
      },
      assertions: [],
    };
    await account.owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop', sla_target: 99.9, sla, check_spec: spec });
    const [changed] = await log();
    t.like(changed, { action: 'monitor.changed', object: { kind: 'monitor', id, name: 'Shop' } });
    const { 'check_spec.assertions': assertions, ...others } = changed?.changes ?? {};
    t.is((assertions as unknown[][])[0]?.length, 1);
    t.deepEqual(others, {
      name: ['http quiet', 'Shop'],
      sla_target: [null, 99.9],
      'sla.target': [null, 99.5],
      'sla.timezone': [null, 'Europe/Berlin'],
      'sla.hours': [null, 'Mo-Fr 08:00-20:00'],
      'sla.exclude_maintenance': [null, true],
      'check_spec.request.headers.X-Mark': ['quiet', 'other'],
      'check_spec.request.body': ['quiet', null],
      'check_spec.request.contentType': ['text/quiet', null],
      'check_spec.request.auth': 'changed',
    });
    await account.owner('PATCH', `/v1/monitors/${id}`, {
      check_spec: { ...spec, request: { ...spec.request, auth: { type: 'bearer' } } },
    });
    t.is((await log())[0]?.id, changed?.id, 'the same secrets are not a change');
    const assertion = { source: 'text_body', op: 'contains', value: 'ok' };
    const auth = { type: 'basic', username: 'ann', password: 'another' };
    await account.owner('PATCH', `/v1/monitors/${id}`, {
      check_spec: { request: { ...spec.request, auth }, assertions: [assertion] },
    });
    const [specified] = await log();
    t.not(specified?.id, changed?.id);
    const reversed = <Value extends object>(value: Value) => Object.fromEntries(Object.entries(value).toReversed());
    await account.owner('PATCH', `/v1/monitors/${id}`, {
      check_spec: { request: { ...spec.request, auth: reversed(auth) }, assertions: [reversed(assertion)] },
    });
    t.is((await log())[0]?.id, specified?.id, 'another order of keys is not a change');
    await account.owner('PATCH', `/v1/monitors/${id}`, { body_match: 'x'.repeat(1024), check_spec: spec });
    t.deepEqual((await log())[0]?.changes['body_match'], ['quiet', `${'x'.repeat(1000)}…`]);
    const heartbeat = await account.owner('GET', `/v1/monitors/${ids.monitor[1]}`);
    const token = pingTokenOf(heartbeat);
    t.false((await person.call('GET', '/v1/audit-log')).text.includes(token));
  },
);

test.serial(
  'only owners read the audit log, page by page and filtered by actor, action, object and time',
  async (t) => {
    const { api } = t.context;
    const { account, ids, person } = await furnishAccount(api, 'reading');
    const stranger = await furnishAccount(api, 'stranger');
    const [monitor = ''] = ids.monitor;
    await person.call('POST', '/v1/monitors', { name: 'By a person' });
    await account.owner('DELETE', `/v1/monitors/${monitor}`);
    const ask = (query = '', who: Person = person) => who.call('GET', `/v1/audit-log${query}`);
    const all = entriesIn(await ask());
    t.deepEqual(
      all.map(({ action }) => action),
      [
        'monitor.deleted',
        'monitor.created',
        'maintenance.created',
        'monitor.created',
        'monitor.created',
        'monitor.created',
      ],
    );
    t.deepEqual(
      all.map(({ object }) => object.name),
      ['http reading', 'By a person', 'maintenance reading', 'vendor reading', 'heartbeat reading', 'http reading'],
    );
    t.like(all[1], {
      actor: { kind: 'user', id: person.user.id, name: `reading (${person.email})` },
      address: '127.0.0.1',
    });

    const namesOf = async (query: string) => entriesIn(await ask(query)).map(({ object }) => object.name);
    t.deepEqual(await namesOf(`?actor_id=${person.user.id}`), ['By a person']);
    t.deepEqual(await namesOf('?action=monitor.deleted'), ['http reading']);
    t.deepEqual(await namesOf(`?object_kind=monitor&object_id=${monitor}`), ['http reading', 'http reading']);
    t.deepEqual(await namesOf(`?object_id=${monitor}`), ['http reading', 'http reading']);
    t.deepEqual(await namesOf('?object_kind=channel'), []);
    await api.database.pool.query('UPDATE audit_log SET at = 1000 + no WHERE tenant_id = $1', [account.tenantId]);
    const dated = entriesIn(await ask());
    const [newest, next, ...older] = dated.map(({ at }) => at);
    t.deepEqual(entriesIn(await ask(`?from=${next}&to=${next}`)), dated.slice(1, 2));
    t.deepEqual(
      entriesIn(await ask(`?from=${next}`)).map(({ at }) => at),
      [newest, next],
    );
    t.deepEqual(entriesIn(await ask(`?to=${older[0]}`)), dated.slice(2));

    const paged: Entry[] = [];
    for (let url: string | null = `${api.url}/v1/audit-log?limit=2`; url !== null;) {
      const page: Answer<{ entries: Entry[] }> = await send(url, { method: 'GET', headers: person.headers });
      paged.push(...entriesIn(page));
      url = /<(.*)>/.exec(page.headers.get('link') ?? '')?.[1] ?? null;
    }
    t.deepEqual(paged, dated);

    const refusals = [
      ['?action=monitor.eaten', /^action must be /],
      ['?object_kind=toaster', /^object_kind must be /],
      ['?from=yesterday', /^from must be /],
      ['?from=1e3', /^from must be a whole number/],
      ['?from=5&to=4', 'from must not be later than to, got 5 and 4'],
      ['?limit=0', /^limit must be /],
      ['?cursor=x', /^cursor must come from /],
      ['?who=me', /who/],
    ] as const;
    for (const [query, error] of refusals) isError(t, await ask(query), { status: 400, error });

    const editor = await addPerson(api, account.tenantId, { role: 'editor' });
    isError(t, await ask('', editor), { status: 403, error: 'this requires the role owner, and yours is editor' });
    isError(t, await account.owner('GET', '/v1/audit-log'), { status: 403, error: /^API tokens cannot do this/ });
    isError(t, await api.anonymous('GET', '/v1/audit-log'), { status: 401, error: /^you are not signed in/ });
    t.false((await ask('', stranger.person)).text.includes('reading'));
    t.deepEqual(entriesIn(await ask(`?object_kind=monitor&object_id=${monitor}`, stranger.person)), []);
    t.deepEqual(entriesIn(await ask(`?actor_id=${person.user.id}`, stranger.person)), []);
    const cursor = /cursor=([\w-]+)/.exec((await ask('?limit=1')).headers.get('link') ?? '')?.[1];
    t.deepEqual(
      entriesIn(await ask(`?cursor=${cursor}`, stranger.person)),
      [],
      'a cursor of another account finds nothing in this one',
    );
  },
);

test.serial('throttled sign-ins of an account are recorded once, and those of an unknown address never', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const person = await addPerson(api, account.tenantId);
  const fail = (email: string) => api.anonymous('POST', '/v1/session', { email, password: 'not the one' });
  const statuses: number[] = [];
  for (let attempt = 1; attempt <= 13; attempt += 1) statuses.push((await fail(person.email.toUpperCase())).status);
  t.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429, 429, 429]);
  for (let attempt = 1; attempt <= 11; attempt += 1) await fail('nobody@example.org');
  const entries = entriesIn(await person.call('GET', '/v1/audit-log'));
  t.deepEqual(
    entries.map(({ action, actor, object, address }) => ({ action, kind: actor.kind, id: object.id, address })),
    [{ action: 'member.sign_in_throttled', kind: 'system', id: person.user.id, address: '127.0.0.1' }],
  );
  const { rows } = await api.database.pool.query(`SELECT 1 FROM audit_log WHERE action = 'member.sign_in_throttled'`);
  t.is(rows.length, 1);
  await api.database.pool.query(`DELETE FROM rate_limits WHERE key LIKE 'spotcheck-sign-in%'`);
});

test.serial('changes to a channel made in its chat are recorded, though no member made them', async (t) => {
  const { api } = t.context;
  const { account, person } = await furnishAccount(api, 'chatty');
  const { json } = await account.owner('POST', '/v1/channels', { type: 'telegram', name: 'On call' });
  const id = String(json['id']);
  const tools = { newId: api.makeId, publicUrl: api.url, nowMs: Date.now() };
  await api.database.pool.query(`UPDATE channels SET status = 'connected', chat_id = '77' WHERE id = $1`, [id]);
  const applyUpdate = (update: Parameters<typeof applyChatUpdate>[1]) =>
    inTransaction(api.database, (run) => applyChatUpdate(run, update, tools));
  await disconnectChannel(api.database, { channelId: id, connection: '77', problem: 'The bot was blocked' }, tools);
  await applyUpdate({ kind: 'start', chatId: '77', fingerprint: null });
  await applyUpdate({ kind: 'start', chatId: '77', fingerprint: null });
  await applyUpdate({ kind: 'stop', chatId: '77' });
  await applyUpdate({ kind: 'stop', chatId: '77' });
  const entries = entriesIn(await person.call('GET', `/v1/audit-log?object_kind=channel&object_id=${id}`));
  t.deepEqual(
    entries.map(({ action, actor }) => [action, actor.kind, actor.name]),
    [
      ['channel.disabled', 'system', 'Telegram'],
      ['channel.connected', 'system', 'Telegram'],
      ['channel.disconnected', 'system', 'Spotcheck'],
      ['channel.created', 'token', 'test'],
    ],
  );
  t.deepEqual(entries[0]?.changes, { enabled: [true, false], last_error: [null, 'A member sent /stop in the chat'] });
});

test('the API description lists every audit action and object kind', async (t) => {
  const document = (await (await fetch(`${t.context.api.url}/openapi.json`)).json()) as Document;
  const schemas = document.components['schemas'] as Record<string, { enum?: unknown[] }>;
  t.deepEqual(schemas['AuditAction']?.enum, [...AUDIT_ACTIONS]);
  t.deepEqual(schemas['AuditObjectKind']?.enum, [...AUDIT_OBJECTS]);
});

/** Returns the order of an operation: deletions come last, the deepest first, and signing out after everything. */
function turnOf({ id, method, path }: DescribedOperation): number {
  // A pause resolves the incident, which then cannot be snoozed, and rules out a drill.
  const turn = ['unsnoozeIncident', 'pauseMonitor', 'resumeMonitor', 'startDrill'].indexOf(id) + 1;
  return turn === 0 && method === 'DELETE' ? 1000 - path.length : turn;
}

async function perform(stage: Stage, operation: DescribedOperation): Promise<Answer> {
  const { method, path } = buildRequest(
    { operation, in: 'body', way: [] },
    '',
    (kind) => stage.ids[kind as Kind][0] ?? '',
  );
  const body = BODIES[operation.id] === undefined ? operation.body?.example : await BODIES[operation.id]?.(stage);
  const headers =
    operation.token === null
      ? {}
      : operation.token === 'session'
        ? stage.person.headers
        : { Authorization: `Bearer ${stage.account.ownerToken}` };
  return await send(`${stage.api.url}${path}`, { method, body, headers });
}

async function addSecondSession({ api, person }: Stage): Promise<string> {
  // The user is read again because the password has changed meanwhile.
  const user = await findUserByEmail(api.database, person.email);
  return (await addSession(api, user ?? person.user)).sessionId;
}

/** Allows audit entries to be modified during `work`. */
async function letWrite<Result>({ database }: ApiServer, work: () => Promise<Result>): Promise<Result> {
  await database.pool.query('ALTER TABLE audit_log DISABLE TRIGGER refuse');
  try {
    return await work();
  } finally {
    await database.pool.query('ALTER TABLE audit_log ENABLE TRIGGER refuse');
  }
}

/** Returns all stored rows except recovery codes, which verifying a code uses up. */
async function stateOf(api: ApiServer): Promise<Set<string>> {
  return new Set((await listRows(api)).filter((row) => !row.startsWith('recovery_codes ')));
}

const SHOWN_ONCE = new Set([
  'token',
  'signing_secret',
  'secret',
  'otpauth_url',
  'url',
  'install_command',
  'csrf_token',
  'deep_link',
  'group_deep_link',
  'authorize_url',
]);

/** Records the changes that later requests depend on, and the secrets in the response, which no log may contain. */
function learn(stage: Stage, { id }: DescribedOperation, { json }: Answer): void {
  if (id === 'changePassword') stage.password = NEW_PASSWORD;
  if (id === 'startTotp') stage.totpSecret = String(json['secret']);
  if (Array.isArray(json['recovery_codes'])) stage.codes = json['recovery_codes'].map(String);
  const shown = Object.entries(json).flatMap(([name, value]) => (SHOWN_ONCE.has(name) ? [String(value)] : []));
  for (const secret of [
    ...shown,
    ...stage.codes,
    PASSWORD,
    NEW_PASSWORD,
    WEBHOOK_SECRET,
    'secret-header',
    'secret-auth',
    'secret-body',
    '$argon2',
    'v1.',
  ])
    stage.secrets.add(secret);
}

async function entriesOf({ api, account }: Stage): Promise<Entry[]> {
  const { rows } = await api.database.pool.query<Entry>(
    `SELECT id, at, json_build_object('kind', actor_kind, 'id', actor_id, 'name', actor_name) AS actor, action,
     json_build_object('kind', object_kind, 'id', object_id, 'name', object_name) AS object, changes, address
     FROM audit_log WHERE tenant_id = $1 ORDER BY no`,
    [account.tenantId],
  );
  return rows;
}

function entriesIn({ json }: Answer<{ entries: Entry[] }>): Entry[] {
  return json.entries;
}
