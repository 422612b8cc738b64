import test from 'ava';
import {
  isOwnPath,
  lacksClaims,
  provisionedDomainOf,
  readPerson,
  roleOf,
  type RoleRule,
} from '../../../core/accounts/open-id.ts';

test('a person is read from well-formed claims only, and needs a valid sub', (t) => {
  const claims = {
    sub: 's',
    email: ' Ada@Example.com ',
    email_verified: true,
    name: 'Ada\u0007 L',
    sid: 'x',
    groups: 'a',
  };
  t.deepEqual(readPerson(claims, 'groups'), {
    subject: 's',
    email: 'ada@example.com',
    isEmailVerified: true,
    name: 'Ada  L',
    sid: 'x',
    roles: ['a'],
  });
  t.deepEqual(
    readPerson({ sub: 's', email: 7, email_verified: true, name: {}, sid: 'ä', groups: [1, 'a', null] }, 'groups'),
    {
      subject: 's',
      email: '',
      isEmailVerified: false,
      name: '',
      sid: null,
      roles: ['a'],
    },
  );
  for (const sub of [undefined, null, '', 7, ['s'], 'ä', 'a\u0000', 'x'.repeat(256)])
    t.is(readPerson({ sub }, null), null);
});

test('a claim is found by its full name or dotted path only, and its values are bounded', (t) => {
  const rolesIn = (claims: Record<string, unknown>, claim: string) => readPerson({ sub: 's', ...claims }, claim)?.roles;
  t.deepEqual(rolesIn({ resource_access: { spotcheck: { roles: ['a', 'b'] } } }, 'resource_access.spotcheck.roles'), [
    'a',
    'b',
  ]);
  t.deepEqual(rolesIn({ 'https://example.com/roles': 'a' }, 'https://example.com/roles'), ['a']);
  for (const claim of ['constructor', '__proto__', 'toString.name', 'a.b', 'a.length'])
    t.deepEqual(rolesIn({ a: 'text' }, claim), [], claim);
  t.is(rolesIn({ groups: Array.from({ length: 5000 }, (_, no) => `g${no}`) }, 'groups')?.length, 1000);
  t.deepEqual(rolesIn({ groups: ['x'.repeat(256), 'y'] }, 'groups'), ['y']);
});

test('userinfo is requested if a needed claim is missing', (t) => {
  const whole = { email: 'a', email_verified: false, name: '' };
  t.false(lacksClaims(whole, null));
  t.true(lacksClaims(whole, 'groups'));
  t.false(lacksClaims({ ...whole, groups: [] }, 'groups'));
  for (const name of ['email', 'email_verified', 'name'])
    t.true(lacksClaims({ ...whole, [name]: undefined }, null), name);
});

test('the highest role with an exactly matching rule applies, and a star matches any value or none', (t) => {
  const rules: readonly RoleRule[] = [
    { role: 'editor', value: 'dev' },
    { role: 'owner', value: 'admins' },
  ];
  for (const [values, expected] of [
    [[], null],
    [['owner', 'Dev', 'dev ', '*'], null],
    [['dev'], 'editor'],
    [['dev', 'admins'], 'owner'],
    [['admins', 'dev'], 'owner'],
  ] as const)
    t.is(roleOf(values, rules), expected, String(values));
  t.is(roleOf([], [...rules, { role: 'viewer', value: '*' }]), 'viewer');
  t.is(roleOf(['dev'], [...rules, { role: 'viewer', value: '*' }]), 'editor');
  t.is(roleOf(['anything'], []), null);
});

test('the domain is everything after the last @, and must match exactly', (t) => {
  const domains = [{ domain: 'example.com', tenantId: null }];
  t.truthy(provisionedDomainOf('a@example.com', domains));
  for (const email of ['a@sub.example.com', 'a@example.com.evil', 'example.com@evil', 'a@EXAMPLE.com', 'a@', ''])
    t.is(provisionedDomainOf(email, domains), null, email);
});

test('a path is accepted only if it cannot lead to another host', (t) => {
  for (const path of ['/', '/monitors?tag=a#b', '/a//b', '/a/../b', '/@b', '/:80']) {
    t.true(isOwnPath(path), path);
    t.is(new URL(`https://own.example${path}`).host, 'own.example');
  }
  for (const path of [
    '',
    'a',
    '//b',
    '/\\b',
    '/a\\b',
    '/ b',
    '/\tb',
    '/\u0000',
    '/ä',
    'https://b',
    `/${'a'.repeat(500)}`,
  ])
    t.false(isOwnPath(path), path);
});
