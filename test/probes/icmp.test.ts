import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import { judgeIcmp } from '../../core/checks/icmp/observation.ts';
import type { CheckSpec, CheckTarget } from '../../core/monitors/monitor.ts';
import { openIcmpProbe, type EchoNotice } from '../../probes/icmp.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { startProgram } from '../helpers/program.ts';

const CAP_NET_RAW = 13n;

/**
 * Number of checks: more replies than a socket buffer holds with Linux's default `net.core.rmem_max`. Some would be
 * lost if all were sent at once.
 */
const CHECKS = 2000;

/**
 * Returns the best socket that the kernel grants this process according to its own settings, which the probe must have
 * found.
 */
async function grantedSocket(): Promise<EchoNotice['means']> {
  const range = (await readFile('/proc/sys/net/ipv4/ping_group_range', 'utf8')).trim().split(/\s+/).map(Number);
  const groups = [process.getgid?.() ?? -1, ...(process.getgroups?.() ?? [])];
  if (groups.some((group) => group >= (range[0] ?? 1) && group <= (range[1] ?? 0))) return 'datagram socket';
  const capabilities =
    /^CapEff:\s*(?<bits>[0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.groups?.bits ?? '0';
  return (BigInt(`0x${capabilities}`) >> CAP_NET_RAW) & 1n ? 'raw socket' : null;
}

function target(host: string, ping: NonNullable<CheckSpec['ping']> = {}, timeoutMs = 60_000): CheckTarget {
  return httpTarget({ type: 'icmp', target: host, timeoutMs, checkSpec: { ping } });
}

function openProbe(t: ExecutionContext, allowPrivateNetwork = true) {
  const notices: EchoNotice[] = [];
  const { probe, close } = openIcmpProbe({ allowPrivateNetwork, onEchoNotice: (notice) => notices.push(notice) });
  t.teardown(close);
  return { probe, notices };
}

/**
 * Reports whether this machine may send, so that loopback must answer. Otherwise the probe cannot measure, and has to
 * report that.
 */
async function maySend(notices: readonly EchoNotice[]): Promise<boolean> {
  return (await grantedSocket()) !== null || notices.some(({ means }) => means !== null);
}

const hasIpv6 = (networkInterfaces()['lo'] ?? []).some(({ family }) => family === 'IPv6');
const LOOPBACK = [
  '127.0.0.1',
  '127.77.7.7',
  'localhost',
  'LocalHost',
  '::ffff:127.0.0.1',
  ...(hasIpv6 ? ['::1', '[::1]', '0:0:0::0:1'] : []),
];

for (const host of LOOPBACK) {
  test(`${host} replies to every real echo request`, async (t) => {
    const { probe, notices } = openProbe(t);
    const checked = target(host, { count: 3 });
    const observation = await probe(checked);
    if (!(await maySend(notices))) return t.is(observation.outcome, 'unavailable');
    t.like(observation, { type: 'icmp', outcome: 'measured', sent: 3, received: 3 });
    t.true(
      observation.latencyMs !== null && observation.latencyMs > 0 && observation.latencyMs < 60_000,
      String(observation.latencyMs),
    );
    t.is(judgeIcmp({ target: checked, observation }).verdict, 'up');
  });
}

test('how pings are sent is reported once for each address family: by socket if the kernel grants one', async (t) => {
  const { probe, notices } = openProbe(t);
  await Promise.all([
    probe(target('127.0.0.1', { count: 1 })),
    probe(target('127.0.0.2', { count: 1 })),
    probe(target('::1', { count: 1 }, 500)),
  ]);
  t.deepEqual(notices.map(({ family }) => family).sort(), [4, 6]);
  const ipv4 = notices.find(({ family }) => family === 4);
  const granted = await grantedSocket();
  if (granted === null) return t.regex(ipv4?.reason ?? '', /datagram socket: \w+, raw socket: \w+/);
  return t.like(ipv4, { means: granted, reason: null });
});

test('four requests are sent by default', async (t) => {
  const { probe, notices } = openProbe(t);
  const observation = await probe(httpTarget({ type: 'icmp', target: '127.0.0.1' }));
  if (!(await maySend(notices))) return t.is(observation.outcome, 'unavailable');
  return t.like(observation, { sent: 4, received: 4 });
});

test('2,000 concurrent checks share a socket and lose no reply', async (t) => {
  const { probe, notices } = openProbe(t);
  await probe(target('127.0.0.1', { count: 1 }));
  if ((await grantedSocket()) === null)
    return t.true(notices.every(({ means }) => means !== 'raw socket' && means !== 'datagram socket'));
  const hosts = Array.from(
    { length: CHECKS },
    (_, index) => `127.1.${index >> 8}.${(index & 255) + (index & 255 ? 0 : 1)}`,
  );
  const observations = await Promise.all(hosts.map((host) => probe(target(host, { count: 2 }))));
  return t.is(observations.filter((each) => each.outcome === 'measured' && each.received === 2).length, CHECKS);
});

test('a reply from another address does not count', async (t) => {
  const { probe, notices } = openProbe(t);
  // Linux sends packets for 0.0.0.0 to 127.0.0.1, which replies under its own address.
  const checked = target('0.0.0.0', { count: 2 }, 1000);
  const observation = await probe(checked);
  if ((await grantedSocket()) === null) return t.true(notices.length > 0);
  t.like(observation, { outcome: 'measured', sent: 2, received: 0, latencyMs: null });
  return t.like(judgeIcmp({ target: checked, observation }), { verdict: 'down', cause: 'icmp_timeout' });
});

test('the guard blocks a private address, also by name, and it is no vote', async (t) => {
  const { probe } = openProbe(t, false);
  for (const host of ['127.0.0.1', '[::1]', '::ffff:10.0.0.1', '169.254.169.254', 'localhost']) {
    const checked = target(host);
    const observation = await probe(checked);
    t.like(observation, { outcome: 'failed', cause: 'blocked_target', latencyMs: null }, host);
    t.is(judgeIcmp({ target: checked, observation }).verdict, 'none');
  }
});

test('a name without an address is down', async (t) => {
  const { probe } = openProbe(t);
  const checked = target('no-such-name.invalid');
  t.like(judgeIcmp({ target: checked, observation: await probe(checked) }), { verdict: 'down', cause: 'dns_nxdomain' });
});

test('a program that closes its probe exits by itself', async (t) => {
  const script = `
    import { openIcmpProbe } from './probes/icmp.ts';
    const { probe, close } = openIcmpProbe({ allowPrivateNetwork: true });
    await probe({ type: 'icmp', target: '127.0.0.1', timeoutMs: 1000, checkSpec: { ping: { count: 1 } } });
    await close();
    process.stdout.write('closed');
  `;
  const program = startProgram(t, ['--input-type=module-typescript', '--eval', script], {});
  t.is(await program.exited, 0, program.output());
  t.is(program.output(), 'closed');
});

test('a program that closes an unused probe exits by itself as well', async (t) => {
  const script = `
    import { openIcmpProbe } from './probes/icmp.ts';
    await openIcmpProbe({ allowPrivateNetwork: true }).close();
  `;
  const program = startProgram(t, ['--input-type=module-typescript', '--eval', script], {});
  t.is(await program.exited, 0, program.output());
});
