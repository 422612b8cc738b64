import anyTest, { type TestFn } from 'ava';
import { agentCaller } from '../agents/agent-caller.ts';
import { isError, send, withApiServer, type ApiServer } from '../api-server.ts';
import { addPerson, addSession, callWith, cookieOf, type Person } from '../person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const DAY = 86_400;
const nowSeconds = () => Math.floor(Date.now() / 1000);

test.serial(
  'a token is shown once, to its creator, is limited to its scopes and stops working once revoked',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const owner = await addPerson(api, account.tenantId);
    const expiresAt = nowSeconds() + DAY;
    const made = await owner.call('POST', '/v1/tokens', {
      name: ' Dashboard ',
      scopes: ['read'],
      expires_at: expiresAt,
    });
    t.is(made.status, 201, made.text);
    t.is(made.headers.get('cache-control'), 'no-store');
    t.like(made.json, {
      name: ' Dashboard ',
      scopes: ['read'],
      expires_at: expiresAt,
      revoked_at: null,
      last_used_at: null,
    });
    const bearer = { Authorization: `Bearer ${made.json['token']}` };
    t.is((await api.anonymous('GET', '/v1/monitors', undefined, bearer)).status, 200);
    isError(t, await api.anonymous('POST', '/v1/monitors', { name: 'x' }, bearer), {
      status: 403,
      error: 'this token lacks the scope write',
    });

    const writer = await owner.call('POST', '/v1/tokens', { name: 'CI', scopes: ['write', 'read'] });
    t.like(writer.json, { scopes: ['read', 'write'], expires_at: null });
    const listed = await owner.call('GET', '/v1/tokens');
    t.false(listed.text.includes('spk_'));
    t.deepEqual(
      listed.json['tokens'].map(({ name }) => name),
      ['test', 'test', ' Dashboard ', 'CI'],
    );
    t.is(listed.json['tokens'][3]?.last_used_at, null);
    t.not(listed.json['tokens'][2]?.last_used_at, null);

    const path = `/v1/tokens/${made.json['id']}`;
    t.deepEqual([(await owner.call('DELETE', path)).status, (await owner.call('DELETE', path)).status], [204, 404]);
    t.is((await api.anonymous('GET', '/v1/monitors', undefined, bearer)).status, 401);
    // A revoked token stays listed for a month, so that users see what happened to it.
    const ended = async () =>
      (await owner.call('GET', '/v1/tokens')).json['tokens'].some(({ id }) => id === made.json['id']);
    t.true(await ended());
    await api.database.pool.query('UPDATE api_tokens SET revoked_at = $2 WHERE id = $1', [
      made.json['id'],
      nowSeconds() - 31 * DAY,
    ]);
    t.false(await ended());
  },
);

test.serial(
  'revoked tokens do not count toward the plan limit, and the error at the limit says to revoke one',
  async (t) => {
    const { api } = t.context;
    const account = await api.account('free');
    const owner = await addPerson(api, account.tenantId);
    isError(t, await owner.call('POST', '/v1/tokens', { name: 'third', scopes: ['read'] }), {
      status: 400,
      error: 'the free plan allows at most 2 API tokens, and this account has reached the limit: revoke one first',
    });
    const { tokens } = (await owner.call('GET', '/v1/tokens')).json;
    t.is((await owner.call('DELETE', `/v1/tokens/${tokens[0]?.id ?? ''}`)).status, 204);
    const [one, other] = await Promise.all(
      ['a', 'b'].map((name) => owner.call('POST', '/v1/tokens', { name, scopes: ['read'] })),
    );
    t.deepEqual([one?.status, other?.status].toSorted(), [201, 400], 'two concurrent requests do not exceed the limit');
  },
);

test.serial('an invalid token request gets a 400 that names the field', async (t) => {
  const { api } = t.context;
  const owner = await addPerson(api, (await api.account()).tenantId);
  const refused: [object, RegExp][] = [
    [{ scopes: ['read'] }, /^name /],
    [{ name: '', scopes: ['read'] }, /^name must be a string of 1 to 255 characters/],
    [{ name: '  ', scopes: ['read'] }, /^name must not be blank$/],
    [{ name: 'a\nb', scopes: ['read'] }, /^name must not contain control characters$/],
    [{ name: 'x', scopes: ['write'] }, /^scopes must be \["read"\] or \["read", "write"\]/],
    [{ name: 'x', scopes: [] }, /^scopes must be a list of 1 to 2 items, got 0 items$/],
    [{ name: 'x', scopes: ['manage'] }, /^scopes\[0\] must be one of read, write/],
    [{ name: 'x', scopes: ['read'], expires_at: nowSeconds() - 1 }, /^expires_at must be in the future/],
    [{ name: 'x', scopes: ['read'], token: 'spk_mine' }, /token/],
  ];
  for (const [body, error] of refused) isError(t, await owner.call('POST', '/v1/tokens', body), { status: 400, error });
});

test.serial('only owners manage tokens: editors and API tokens get a 403, other accounts a 404', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const editor = await addPerson(api, account.tenantId, { role: 'editor' });
  const stranger = await addPerson(api, (await api.account()).tenantId);
  const owner = await addPerson(api, account.tenantId);
  const {
    json: { id },
  } = await owner.call('POST', '/v1/tokens', { name: 'x', scopes: ['read'] });
  for (const [method, path, body] of [
    ['GET', '/v1/tokens'],
    ['POST', '/v1/tokens', { name: 'x', scopes: ['read'] }],
    ['DELETE', `/v1/tokens/${String(id)}`],
  ] as const) {
    isError(t, await editor.call(method, path, body), {
      status: 403,
      error: 'this requires the role owner, and yours is editor',
    });
    isError(t, await account.owner(method, path, body), { status: 403, error: /^API tokens cannot do this/ });
  }
  isError(t, await stranger.call('DELETE', `/v1/tokens/${String(id)}`), {
    status: 404,
    error: `token ${String(id)} does not exist`,
  });
});

test.serial(
  'creating and rotating an agent shows its token and install command, and only the latest token works',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const editor = await addPerson(api, account.tenantId, { role: 'editor' });
    const made = await editor.call('POST', '/v1/agents', { name: 'home-lab', region: 'Hanoi' });
    t.is(made.status, 201, made.text);
    t.is(made.headers.get('cache-control'), 'no-store');
    const { id, token, ...rest } = made.json;
    t.deepEqual(rest, {
      name: 'home-lab',
      region: 'Hanoi',
      install_command: `SPOTCHECK_URL=${api.url} SPOTCHECK_AGENT_TOKEN=${token} npm run agent`,
    } as object);
    const pull = async (bearer: string) =>
      (
        await send(`${api.url}/agent/v1/pull`, {
          method: 'POST',
          body: { capabilities: ['http'] },
          headers: { Authorization: `Bearer ${bearer}` },
        })
      ).status;
    t.is(await pull(token), 200);
    const read = await account.reader('GET', `/v1/agents/${id}`);
    t.like(read.json, { id, name: 'home-lab', region: 'Hanoi', kind: 'tenant', tenant_id: account.tenantId });
    t.false(read.text.includes('spa_'));

    const rotated = await editor.call('POST', `/v1/agents/${id}/rotate`);
    t.is(rotated.status, 200);
    t.regex(rotated.json['install_command'], new RegExp(`SPOTCHECK_AGENT_TOKEN=${rotated.json['token']} `));
    t.deepEqual([await pull(token), await pull(rotated.json['token'])], [401, 200]);
    for (const body of [
      { name: ' ' },
      { name: 'a\u0000' },
      { name: 'x', region: '\u0007' },
      { name: 'x', region: '' },
      {},
    ])
      t.is((await editor.call('POST', '/v1/agents', body)).status, 400);
    t.is((await editor.call('POST', '/v1/agents', { name: 'x', region: null })).status, 201);
  },
);

test.serial(
  'only editors and owners create agents and rotate tokens, within the plan and in their own account',
  async (t) => {
    const { api } = t.context;
    const account = await api.account('free');
    const own = await agentCaller(api, account);
    const owner = await addPerson(api, account.tenantId);
    const viewer = await addPerson(api, account.tenantId, { role: 'viewer' });
    const stranger = await addPerson(api, (await api.account()).tenantId);
    isError(t, await owner.call('POST', '/v1/agents', { name: 'second' }), {
      status: 400,
      error: 'the free plan allows at most 1 private agent, and this account has reached the limit: delete one first',
    });
    isError(t, await viewer.call('POST', '/v1/agents', { name: 'x' }), {
      status: 403,
      error: 'this requires the role editor, and yours is viewer',
    });
    isError(t, await account.owner('POST', `/v1/agents/${own.id}/rotate`), {
      status: 403,
      error: /^API tokens cannot do this/,
    });
    isError(t, await stranger.call('POST', `/v1/agents/${own.id}/rotate`), {
      status: 404,
      error: `agent ${own.id} does not exist`,
    });
    const { agents } = (await account.reader('GET', '/v1/agents?kind=first_party')).json;
    isError(t, await owner.call('POST', `/v1/agents/${agents[0]?.id ?? ''}/rotate`), {
      status: 403,
      error: /is shared by all accounts, and its token cannot be rotated here$/,
    });
    t.is((await own.post('pull', { capabilities: ['http'] })).status, 200, 'its token is unchanged');
  },
);

test.serial('plan usage counts what the limits count, and limits that are not enforced are null', async (t) => {
  const { api } = t.context;
  const account = await api.account('solo');
  await account.owner('POST', '/v1/monitors', { name: 'x' });
  await agentCaller(api, account);
  const viewer = await addPerson(api, account.tenantId, { role: 'viewer' });
  const usage = {
    plan: 'solo',
    limits: {
      monitors: 100,
      own_agents: 3,
      tokens: 10,
      requests_per_minute: 600,
      min_interval_seconds: 30,
      result_days: 30,
    },
    used: { monitors: 1, own_agents: 1, tokens: 2, channels: 0, members: 1 },
  };
  t.deepEqual((await account.reader('GET', '/v1/usage')).json, usage);
  t.deepEqual((await viewer.call('GET', '/v1/usage')).json, usage);
  const uncounted = await api.another({
    config: {
      publicUrl: api.url,
      planCountLimits: false,
      telegramBotName: null,
      slackClientId: null,
      trustedProxies: [],
    },
  });
  t.like((await account.reader('GET', '/v1/usage', undefined, {}, uncounted)).json['limits'], {
    monitors: null,
    own_agents: null,
    tokens: 10,
  });
});

/** Invites a member and returns the link's last part. */
async function invite(person: Person, body: { email: string; role: string }): Promise<{ token: string; id: string }> {
  const { status, json, text } = await person.call('POST', '/v1/invitations', body);
  if (status !== 201) throw new Error(text);
  const { id, url } = json;
  return { id, token: url.split('/').at(-1) ?? '' };
}

const NEW_PASSWORD = 'correct horse battery staple';
const OVER = 'this invitation was used or revoked, or is older than 7 days: ask for a new one';

test.serial(
  'an invitee opens the link, chooses a password and is signed in with the invited role; the link works once',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const owner = await addPerson(api, account.tenantId, { mark: 'ada' });
    const email = `Grace-${account.tenantId}@Example.org`;
    const made = await owner.call('POST', '/v1/invitations', { email, role: 'editor' });
    t.is(made.status, 201, made.text);
    t.is(made.headers.get('cache-control'), 'no-store');
    t.like(made.json, { email: email.toLowerCase(), role: 'editor', invited_by: 'ada' });
    t.is(Number(made.json['expires_at']) - Number(made.json['created_at']), 7 * DAY);
    const [base, token = ''] = made.json['url'].split('/invitations/');
    t.is(base, api.url);
    const listed = await owner.call('GET', '/v1/invitations');
    t.like(listed.json['invitations'][0], { id: made.json['id'], email: email.toLowerCase() });
    t.false(listed.text.includes(token));

    const read = await api.anonymous('GET', `/v1/invitations/${token}`);
    t.deepEqual(read.json, {
      email: email.toLowerCase(),
      role: 'editor',
      tenant: { name: account.tenantId },
      invited_by: 'ada',
      expires_at: made.json['expires_at'],
    });
    await api.database.pool.query(`UPDATE users SET name = '' WHERE id = $1`, [owner.user.id]);
    const nameless = await api.anonymous('GET', `/v1/invitations/${token}`);
    t.false('invited_by' in nameless.json, nameless.text);
    const joined = await api.anonymous('POST', '/v1/invitations/accept', {
      token,
      name: 'Grace',
      password: NEW_PASSWORD,
    });
    t.is(joined.status, 201, joined.text);
    t.is(joined.headers.get('cache-control'), 'no-store');
    t.like(joined.json['user'], {
      email: email.toLowerCase(),
      name: 'Grace',
      role: 'editor',
      is_operator: false,
    });
    t.is(typeof joined.json['user'].password_changed_at, 'number', 'the invitee chose it');
    const page = callWith(api, { Cookie: cookieOf(joined) ?? '', 'X-CSRF-Token': joined.json['csrf_token'] });
    t.is((await page('POST', '/v1/monitors', { name: 'x' })).status, 201);
    t.is((await page('GET', '/v1/invitations')).status, 403);
    t.is(
      (await send(`${api.url}/v1/session`, { method: 'POST', body: { email, password: NEW_PASSWORD }, headers: {} }))
        .status,
      201,
    );

    isError(t, await api.anonymous('GET', `/v1/invitations/${token}`), { status: 404, error: OVER });
    isError(
      t,
      await api.anonymous('POST', '/v1/invitations/accept', { token, name: 'Mallory', password: NEW_PASSWORD }),
      { status: 404, error: OVER },
    );
    t.deepEqual((await owner.call('GET', '/v1/invitations')).json, { invitations: [] });
    isError(t, await owner.call('POST', '/v1/invitations', { email: email.toUpperCase(), role: 'viewer' }), {
      status: 409,
      error: /^there is already a member with the address /,
    });
    const { members } = (await page('GET', '/v1/members')).json;
    t.deepEqual(
      members.map(({ email: address, role, is_you: isYou }) => [address, role, isYou]),
      [
        [owner.email, 'owner', false],
        [email.toLowerCase(), 'editor', true],
      ],
    );
    t.false(api.logLines.some((line) => JSON.stringify(line).includes(token)));
    const { rows } = await api.database.pool.query<{ text: string }>(
      'SELECT to_jsonb(i)::text AS text FROM invitations i',
    );
    t.true(rows.length > 0 && rows.every(({ text }) => !text.includes(token)), 'only its fingerprint is stored');
  },
);

test.serial(
  'an invitation link gets a 404 once expired, revoked or replaced, or once its inviter is demoted or removed',
  async (t) => {
    const { api } = t.context;
    const { tenantId } = await api.account();
    const [owner, other] = [await addPerson(api, tenantId), await addPerson(api, tenantId)];
    const past = await invite(owner, { email: `past-${tenantId}@example.org`, role: 'viewer' });
    await api.database.pool.query('UPDATE invitations SET expires_at = $2 WHERE id = $1', [past.id, nowSeconds()]);
    const back = await invite(owner, { email: `back-${tenantId}@example.org`, role: 'viewer' });
    t.is((await owner.call('DELETE', `/v1/invitations/${back.id}`)).status, 204);
    isError(t, await owner.call('DELETE', `/v1/invitations/${back.id}`), {
      status: 404,
      error: `invitation ${back.id} does not exist`,
    });
    const replaced = await invite(owner, { email: `twice-${tenantId}@example.org`, role: 'viewer' });
    const newer = await invite(owner, { email: `TWICE-${tenantId}@example.org`, role: 'editor' });
    const [demoted, gone] = [
      await invite(other, { email: `a-${tenantId}@example.org`, role: 'owner' }),
      await addPerson(api, tenantId),
    ];
    const ofGone = await invite(gone, { email: `b-${tenantId}@example.org`, role: 'owner' });
    t.is((await owner.call('PATCH', `/v1/members/${other.user.id}`, { role: 'viewer' })).status, 200);
    t.is((await owner.call('DELETE', `/v1/members/${gone.user.id}`)).status, 204);
    for (const { token } of [past, back, replaced, demoted, ofGone]) {
      isError(t, await api.anonymous('GET', `/v1/invitations/${token}`), { status: 404, error: OVER });
      isError(t, await api.anonymous('POST', '/v1/invitations/accept', { token, name: 'x', password: NEW_PASSWORD }), {
        status: 404,
        error: OVER,
      });
    }
    t.is((await api.anonymous('GET', `/v1/invitations/${newer.token}`)).json['role'], 'editor');
  },
);

test.serial(
  'of concurrent acceptances of one invitation only one succeeds, and an address with an account gets a 409',
  async (t) => {
    const { api } = t.context;
    const { tenantId } = await api.account();
    const owner = await addPerson(api, tenantId);
    const { token } = await invite(owner, { email: `many-${tenantId}@example.org`, role: 'viewer' });
    const answers = await Promise.all(
      [1, 2, 3].map((number) =>
        api.anonymous('POST', '/v1/invitations/accept', { token, name: `x${number}`, password: NEW_PASSWORD }),
      ),
    );
    t.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 404, 404]);
    const stranger = await addPerson(api, (await api.account()).tenantId);
    const elsewhere = await invite(owner, { email: stranger.email, role: 'owner' });
    isError(
      t,
      await api.anonymous('POST', '/v1/invitations/accept', {
        token: elsewhere.token,
        name: 'x',
        password: NEW_PASSWORD,
      }),
      { status: 409, error: /already has an account/ },
    );
    t.is(
      (
        await send(`${api.url}/v1/session`, {
          method: 'POST',
          body: { email: stranger.email, password: stranger.password },
          headers: {},
        })
      ).status,
      201,
    );
  },
);

test.serial('invalid invitations and acceptances get a 400 that names the field', async (t) => {
  const { api } = t.context;
  const owner = await addPerson(api, (await api.account()).tenantId);
  for (const email of [
    '',
    'nobody',
    'a b@example.org',
    'a@b@c',
    'a\u0000@example.org',
    `${'x'.repeat(320)}@example.org`,
  ])
    isError(t, await owner.call('POST', '/v1/invitations', { email, role: 'viewer' }), {
      status: 400,
      error: /^email must be/,
    });
  isError(t, await owner.call('POST', '/v1/invitations', { email: 'a@example.org', role: 'operator' }), {
    status: 400,
    error: /^role must be one of owner, editor, viewer/,
  });
  const email = `careless-${owner.user.id}@example.org`;
  const { token } = await invite(owner, { email, role: 'viewer' });
  const accept = async (body: object) =>
    await api.anonymous('POST', '/v1/invitations/accept', { token, name: 'x', password: NEW_PASSWORD, ...body });
  isError(t, await accept({ password: 'short' }), { status: 400, error: /^password must be/ });
  isError(t, await accept({ password: email.toUpperCase() }), {
    status: 400,
    error: /^password must not be your email address/,
  });
  isError(t, await accept({ name: ' ' }), { status: 400, error: /^name must not be blank$/ });
  t.is((await accept({})).status, 201);
});

test.serial(
  'an account can have 100 pending invitations, and a new one to the same address replaces the old one',
  async (t) => {
    const { api } = t.context;
    const { tenantId } = await api.account();
    const owner = await addPerson(api, tenantId);
    await api.database.pool.query(
      `INSERT INTO invitations (id, tenant_id, email, role, fingerprint, created_at, expires_at)
     SELECT 'inv_' || $1 || n, $1, n || '@example.org', 'viewer', sha256(($1 || n)::bytea), $2::bigint, $2::bigint + 60
     FROM generate_series(1, 100) n`,
      [tenantId, nowSeconds()],
    );
    isError(t, await owner.call('POST', '/v1/invitations', { email: 'one@more.example', role: 'viewer' }), {
      status: 409,
      error: 'this account has reached the limit of 100 pending invitations: revoke one first',
    });
    t.is(
      (await owner.call('POST', '/v1/invitations', { email: '7@example.org', role: 'viewer' })).status,
      201,
      'it replaces the older one',
    );
  },
);

test.serial(
  'a role change takes effect immediately and ends the sessions that started with the old role',
  async (t) => {
    const { api } = t.context;
    const { tenantId } = await api.account();
    const [owner, member] = [await addPerson(api, tenantId), await addPerson(api, tenantId, { role: 'editor' })];
    const path = `/v1/members/${member.user.id}`;
    t.is((await owner.call('PATCH', path, { role: 'editor' })).status, 200);
    t.is((await member.call('GET', '/v1/session')).status, 200, 'nothing changed');
    t.like((await owner.call('PATCH', path, { role: 'viewer' })).json, {
      id: member.user.id,
      role: 'viewer',
      is_you: false,
    });
    t.is((await member.call('GET', '/v1/session')).status, 401);
    const again = callWith(api, (await addSession(api, member.user)).headers);
    isError(t, await again('POST', '/v1/monitors', { name: 'x' }), {
      status: 403,
      error: /^your role viewer does not allow changes/,
    });
    t.is((await owner.call('PATCH', path, { role: 'owner' })).status, 200);

    // When users change their own role, this session stays and the others end.
    const other = callWith(api, (await addSession(api, owner.user)).headers);
    t.is((await owner.call('PATCH', `/v1/members/${owner.user.id}`, { role: 'viewer' })).status, 200);
    t.deepEqual(
      [(await owner.call('GET', '/v1/session')).status, (await other('GET', '/v1/session')).status],
      [200, 401],
    );
    isError(t, await owner.call('PATCH', path, { role: 'viewer' }), {
      status: 403,
      error: 'this requires the role owner, and yours is viewer',
    });
  },
);

test.serial(
  'a removed member is signed out immediately; any member can leave, and only owners remove others',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const [owner, editor, viewer] = [
      await addPerson(api, account.tenantId),
      await addPerson(api, account.tenantId, { role: 'editor' }),
      await addPerson(api, account.tenantId, { role: 'viewer' }),
    ];
    isError(t, await editor.call('DELETE', `/v1/members/${viewer.user.id}`), {
      status: 403,
      error: 'removing other members requires the role owner, and yours is editor',
    });
    isError(t, await account.owner('DELETE', `/v1/members/${viewer.user.id}`), {
      status: 403,
      error: /^API tokens cannot do this/,
    });
    t.is((await owner.call('DELETE', `/v1/members/${editor.user.id}`)).status, 204);
    t.is((await editor.call('GET', '/v1/session')).status, 401);
    t.is(
      (
        await send(`${api.url}/v1/session`, {
          method: 'POST',
          body: { email: editor.email, password: editor.password },
          headers: {},
        })
      ).status,
      401,
    );
    isError(t, await owner.call('DELETE', `/v1/members/${editor.user.id}`), {
      status: 404,
      error: `member ${editor.user.id} does not exist`,
    });
    const left = await viewer.call('DELETE', `/v1/members/${viewer.user.id}`);
    t.is(left.status, 204);
    t.regex(left.headers.get('set-cookie') ?? '', /^spotcheck=; /);
    const stranger = await addPerson(api, (await api.account()).tenantId);
    for (const [method, body] of [
      ['PATCH', { role: 'viewer' }],
      ['DELETE', undefined],
    ] as const)
      isError(t, await stranger.call(method, `/v1/members/${owner.user.id}`, body), {
        status: 404,
        error: `member ${owner.user.id} does not exist`,
      });
  },
);

test.serial(
  'the last owner can neither leave nor be demoted, even if two owners remove each other concurrently',
  async (t) => {
    const { api } = t.context;
    const { tenantId } = await api.account();
    const [ada, ben] = [await addPerson(api, tenantId), await addPerson(api, tenantId)];
    await addPerson(api, tenantId, { role: 'editor' });
    const answers = await Promise.all([
      ada.call('PATCH', `/v1/members/${ben.user.id}`, { role: 'viewer' }),
      ben.call('DELETE', `/v1/members/${ada.user.id}`),
    ]);
    t.true(answers.filter(({ status }) => status < 300).length === 1, JSON.stringify(answers.map(({ text }) => text)));
    const { rows: owners } = await api.database.pool.query<{ id: string }>(
      `SELECT id FROM users WHERE tenant_id = $1 AND role = 'owner'`,
      [tenantId],
    );
    t.is(owners.length, 1);
    const last = ada.user.id === owners[0]?.id ? ada : ben;
    const lastOwner = 'this is the last owner of the account: make another member an owner first';
    isError(t, await last.call('PATCH', `/v1/members/${last.user.id}`, { role: 'editor' }), {
      status: 409,
      error: lastOwner,
    });
    isError(t, await last.call('DELETE', `/v1/members/${last.user.id}`), { status: 409, error: lastOwner });
  },
);

test.serial('owners rename the account, which the audit log and every session show', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const owner = await addPerson(api, tenantId);
  const editor = await addPerson(api, tenantId, { role: 'editor' });
  const stranger = await addPerson(api, (await api.account()).tenantId);
  const rename = (name: unknown, person = owner) => person.call('PATCH', '/v1/account', { name });
  const nameFor = async (person: Person) => (await person.call('GET', '/v1/session')).json['tenant'].name;
  const before = await nameFor(owner);
  t.deepEqual((await rename('  Northwind ')).json, { id: tenantId, name: 'Northwind', plan: 'pro' });
  t.deepEqual([await nameFor(owner), await nameFor(editor)], ['Northwind', 'Northwind']);
  const entries = async () =>
    (await owner.call('GET', '/v1/audit-log?action=account.renamed')).json['entries'].map(({ changes }) => changes);
  t.deepEqual(await entries(), [{ name: [before, 'Northwind'] }]);

  t.is((await rename('Northwind')).status, 200);
  isError(t, await rename('Northwind', stranger), {
    status: 409,
    error: 'name is already used by another account: choose a different one',
  });
  const taken = await Promise.all([rename('Contoso'), rename('Contoso', stranger)]);
  t.deepEqual(
    taken.map(({ status }) => status).toSorted(),
    [200, 409],
    'two concurrent renames cannot both use the name',
  );
  for (const [name, error] of [
    ['', /^name must be a string of 1 to 255 characters/],
    ['  ', /^name must not be blank$/],
    ['a\nb', /^name must not contain control characters$/],
    ['x'.repeat(256), /^name must be a string of 1 to 255 characters/],
    [7, /^name must be a string/],
  ] as const)
    isError(t, await rename(name), { status: 400, error });
  isError(t, await rename('Mine', editor), { status: 403, error: /owner/ });
});
