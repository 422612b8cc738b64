import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { isRefusedAddress } from '../../net/address-guard.ts';
import { resolveHost } from '../../net/host-address.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const OPEN = { allowPrivateNetwork: true, deadlineMs: 5000 };
const GUARDED = { allowPrivateNetwork: false, deadlineMs: 5000 };

test('an address is itself, without a lookup', async (t) => {
  t.deepEqual(await resolveHost('127.0.0.1', OPEN), {
    outcome: 'found',
    addresses: [{ address: '127.0.0.1', family: 4 }],
    dnsMs: null,
  });
  t.deepEqual(await resolveHost('::1', OPEN), {
    outcome: 'found',
    addresses: [{ address: '::1', family: 6 }],
    dnsMs: null,
  });
  t.deepEqual(await resolveHost('1.1.1.1', GUARDED), {
    outcome: 'found',
    addresses: [{ address: '1.1.1.1', family: 4 }],
    dnsMs: null,
  });
});

test('a name has its addresses, and the lookup its time', async (t) => {
  const host = await resolveHost('localhost', OPEN);
  t.true(host.outcome === 'found' && host.addresses.length > 0 && host.dnsMs !== null && host.dnsMs >= 0);
});

test('the guard refuses private addresses and names that lead to no other', async (t) => {
  for (const host of ['127.0.0.1', '::1', '::ffff:10.0.0.1', '192.168.1.1', 'localhost'])
    t.like(await resolveHost(host, GUARDED), { outcome: 'failed', cause: 'blocked_target' });
});

test('only an address is refused before its lookup', (t) => {
  t.true(isRefusedAddress('10.0.0.1', GUARDED));
  t.false(isRefusedAddress('10.0.0.1', OPEN));
  t.false(isRefusedAddress('1.1.1.1', GUARDED));
  t.false(isRefusedAddress('localhost', GUARDED));
});

test('a name without addresses is a failure of the lookup', async (t) => {
  const host = await resolveHost('no-such-name.invalid', OPEN);
  t.true(host.outcome === 'failed' && host.cause.startsWith('dns_'));
});

test('a lookup that takes longer than the deadline is a timeout', async (t) => {
  // Opening a pipe to read waits for a writer, in a thread that lookups need as well.
  const pipe = join(await temporaryFolder(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const opened = Array.from({ length: Number(process.env['UV_THREADPOOL_SIZE'] ?? 4) }, () => open(pipe));
  t.like(await resolveHost('localhost', { ...OPEN, deadlineMs: 50 }), {
    outcome: 'failed',
    cause: 'timeout',
    reason: 'Timed out during the DNS lookup',
  });
  const writer = openSync(pipe, 'r+');
  for (const handle of await Promise.all(opened)) await handle.close();
  closeSync(writer);
});
