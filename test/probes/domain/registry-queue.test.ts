import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { currentAccount, holdingBodies } from '../../../net/body-budget.ts';
import { createRegistryQueue, type DomainStore } from '../../../probes/domain/registry-queue.ts';

/** Returns a store with the row of one server, as in PostgreSQL; `polls` counts the attempts to acquire it. */
function openRow() {
  const row = { heldUntilMs: 0, freeAtMs: 0, polls: 0 };
  const store = {
    async acquireRegistry(_server, { nowMs, untilMs }) {
      row.polls += 1;
      if (Math.max(row.heldUntilMs, row.freeAtMs) > nowMs) return row.freeAtMs;
      row.heldUntilMs = untilMs;
      return null;
    },
    async releaseRegistry(_server, { freeAtMs }) {
      row.heldUntilMs = 0;
      row.freeAtMs = freeAtMs;
    },
  } satisfies Pick<DomainStore, 'acquireRegistry' | 'releaseRegistry'>;
  return { row, run: createRegistryQueue({ store: store as unknown as DomainStore, now: Date.now }) };
}

test('waiting accounts are served in rotation, and each request counts for its own account', async (t) => {
  const { run } = openRow();
  const turns: string[] = [];
  const ask = (account: string, label: string) =>
    holdingBodies(account, () =>
      run('registry', {
        deadlineAtMs: Date.now() + 60_000,
        accounts: new Set([account]),
        async ask() {
          turns.push(`${label} by ${currentAccount()}`);
          return { result: label, askAgainAtMs: null };
        },
      }),
    );
  await Promise.all([...['a1', 'a2', 'a3'].map((label) => ask('a', label)), ask('b', 'b1'), ask('c', 'c1')]);
  t.deepEqual(turns, ['a1 by a', 'b1 by b', 'c1 by c', 'a2 by a', 'a3 by a']);
});

test('the ninth waiting request of an account is busy at once, and waiting requests share their polls', async (t) => {
  const { row, run } = openRow();
  row.heldUntilMs = Date.now() + 3_600_000;
  const request = (account: string) => ({
    deadlineAtMs: Date.now() + 1000,
    accounts: new Set([account]),
    ask: async () => ({ result: account, askAgainAtMs: null }),
  });
  const waiting = Array.from({ length: 8 }, () => run('registry', request('a')));
  const anyWaiting = Promise.race(waiting).then(() => 'one that waited');
  t.deepEqual(await Promise.race([run('registry', request('a')), anyWaiting]), { outcome: 'busy', retryAtMs: null });
  const other = run('registry', request('b'));
  for (const each of [...waiting, other]) t.deepEqual(await each, { outcome: 'busy', retryAtMs: null });
  t.true(row.polls <= 15, `${row.polls} polls for nine`);
});

test('a request that cannot wait for the end of a registry pause is busy, with the time to retry', async (t) => {
  const { row, run } = openRow();
  row.freeAtMs = Date.now() + 3_600_000;
  const request = {
    deadlineAtMs: Date.now() + 8000,
    accounts: new Set(['a']),
    ask: async () => ({ result: 0, askAgainAtMs: null }),
  };
  t.deepEqual(await run('registry', request), { outcome: 'busy', retryAtMs: row.freeAtMs });
});

test('if PostgreSQL is unavailable waiting requests fail, and the next one tries again', async (t) => {
  let isAway = true;
  const store = {
    acquireRegistry: async () => {
      await sleep(10);
      if (isAway) throw new Error('away');
      return null;
    },
    releaseRegistry: async () => undefined,
  };
  const run = createRegistryQueue({ store: store as unknown as DomainStore, now: Date.now });
  const ask = () =>
    run('registry', {
      deadlineAtMs: Date.now() + 8000,
      accounts: new Set(['a']),
      ask: async () => ({ result: 'here', askAgainAtMs: null }),
    });
  await Promise.all([t.throwsAsync(ask(), { message: 'away' }), t.throwsAsync(ask(), { message: 'away' })]);
  isAway = false;
  t.deepEqual(await ask(), { outcome: 'answered', result: 'here' });
});
