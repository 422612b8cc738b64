import test from 'ava';
import { isGone, learnDomain, unknownDomain } from '../../../core/checks/domain/facts.ts';
import {
  acquireRegistry,
  claimDomain,
  deleteIdleRegistries,
  deleteOldDomains,
  findDomain,
  listDomains,
  releaseRegistry,
  storeDomain,
} from '../../../models/checks/lookups.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { inTransaction } from '../../../models/sql.ts';
import { pullBackTimes } from '../../../models/system/future-times.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';

const NOW_MS = 1_795_000_000_000;
const HOUR_MS = 3_600_000;

let testDatabase: TestDatabase;
let database: Database;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl);
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test('the facts about a domain are returned as they were stored', async (t) => {
  t.is(await findDomain(database, 'unheard.example'), null);
  const registered = learnDomain(
    unknownDomain('a.example'),
    { outcome: 'registered', expiresAt: 1_900_000_000, registrar: 'Société' },
    NOW_MS,
  );
  const silent = learnDomain(
    unknownDomain('b.example'),
    { outcome: 'registered', expiresAt: null, registrar: null },
    NOW_MS,
  );
  const missing = learnDomain(unknownDomain('c.example'), { outcome: 'not_found' }, NOW_MS);
  const failed = learnDomain(registered, { outcome: 'failed', reason: 'Timed out', retryAtMs: null }, NOW_MS);
  for (const facts of [registered, silent, missing, failed]) {
    await storeDomain(database, facts);
    t.deepEqual(await findDomain(database, facts.name), facts);
  }
  t.deepEqual(
    (await listDomains(database, ['a.example', 'b.example', 'unheard.example'])).map(({ name }) => name).toSorted(),
    ['a.example', 'b.example'],
  );
});

test('after the clock was set back a domain not found is gone as soon as a second lookup agrees', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  const itsDatabase = openTestDatabase(databaseUrl);
  t.teardown(async () => {
    await closeDatabase(itsDatabase);
    await drop();
  });
  const backMs = 300 * 24 * HOUR_MS;
  const name = 'gone.example';
  await storeDomain(itsDatabase, learnDomain(unknownDomain(name), { outcome: 'not_found' }, NOW_MS + backMs));
  await inTransaction(itsDatabase, (_, client) => pullBackTimes(client, { nowMs: NOW_MS, backMs }));
  const known = await findDomain(itsDatabase, name);
  t.like(known, { answeredAtMs: NOW_MS, notFoundSinceMs: NOW_MS, nextLookupAtMs: NOW_MS + HOUR_MS });
  t.true(isGone(learnDomain(known ?? unknownDomain(name), { outcome: 'not_found' }, NOW_MS + HOUR_MS)));
});

test('only one of concurrent lookups of a domain proceeds, until it is stored or its claim expires', async (t) => {
  const claim = (nowMs: number) => claimDomain(database, 'claimed.example', { nowMs, untilMs: nowMs + 10_000 });
  const claims = await Promise.all(Array.from({ length: 20 }, () => claim(NOW_MS)));
  t.is(claims.filter(Boolean).length, 1);
  t.false(await claim(NOW_MS + 9999));
  t.true(await claim(NOW_MS + 10_000), 'the first claim has expired');
  await storeDomain(database, learnDomain(unknownDomain('claimed.example'), { outcome: 'not_found' }, NOW_MS + 11_000));
  t.false(await claim(NOW_MS + 12_000), 'not due yet');
  t.true(await claim(NOW_MS + 12_000 + HOUR_MS));
});

test('only one of concurrent callers may query a registry, and none after it before it is free', async (t) => {
  const take = (nowMs: number) => acquireRegistry(database, 'whois:a:43', { nowMs, untilMs: nowMs + 5000 });
  const turns = await Promise.all(Array.from({ length: 20 }, () => take(NOW_MS)));
  t.is(turns.filter((turn) => turn === null).length, 1);
  await releaseRegistry(database, 'whois:a:43', { untilMs: NOW_MS + 5000, freeAtMs: NOW_MS + HOUR_MS });
  t.is(await take(NOW_MS + HOUR_MS - 1), NOW_MS + HOUR_MS);
  t.is(await take(NOW_MS + HOUR_MS), null);
});

test('a registry claim that outlasts its time neither ends the next one nor shortens a pause', async (t) => {
  const server = 'whois:b:43';
  t.is(await acquireRegistry(database, server, { nowMs: NOW_MS, untilMs: NOW_MS + 5000 }), null);
  t.is(await acquireRegistry(database, server, { nowMs: NOW_MS + 6000, untilMs: NOW_MS + 11_000 }), null);
  await releaseRegistry(database, server, { untilMs: NOW_MS + 5000, freeAtMs: NOW_MS + 8000 });
  t.not(
    await acquireRegistry(database, server, { nowMs: NOW_MS + 9000, untilMs: NOW_MS + 14_000 }),
    null,
    'the second claim still holds it',
  );
  await releaseRegistry(database, server, { untilMs: NOW_MS + 11_000, freeAtMs: NOW_MS + 7000 });
  t.is(await acquireRegistry(database, server, { nowMs: NOW_MS + 7999, untilMs: NOW_MS + 14_000 }), NOW_MS + 8000);
});

test('domains and registries unused for long are deleted', async (t) => {
  const old = learnDomain(unknownDomain('old.example'), { outcome: 'not_found' }, NOW_MS - 1000 * HOUR_MS);
  await storeDomain(database, old);
  await storeDomain(database, learnDomain(unknownDomain('new.example'), { outcome: 'not_found' }, NOW_MS));
  await acquireRegistry(database, 'whois:old:43', { nowMs: 1, untilMs: 2 });
  t.is(await deleteOldDomains(database, NOW_MS - 900 * HOUR_MS), 1);
  t.is(await deleteIdleRegistries(database, NOW_MS - 900 * HOUR_MS), 1);
  t.deepEqual(
    [await findDomain(database, 'old.example'), (await findDomain(database, 'new.example'))?.name],
    [null, 'new.example'],
  );
});
