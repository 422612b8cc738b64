import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EchoMeans } from '../../../probes/icmp/echo-packet.ts';
import { openPingProgram, readPingOutput } from '../../../probes/icmp/ping-program.ts';
import { until } from '../../helpers/until.ts';

const ANSWERS =
  "printf '64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.080 ms\\n1 packets transmitted, 1 received\\n'";
/**
 * Simulates a real ping on an interrupt. The sleep runs in the background, so that the shell gets the signal at once
 * and stops the sleep.
 */
const WAITS_IN_SILENCE = `trap 'kill $!; wait $!; echo "3 packets transmitted, 0 received"; exit 1' INT
sleep 10 >/dev/null 2>&1 &
wait`;

/**
 * Replaces the system's ping with a program. It answers for loopback, as the self-test on startup requires, and runs
 * `otherwise` for any other address.
 */
async function startProgram(t: ExecutionContext, otherwise: (directory: string) => string) {
  const directory = await mkdtemp(join(tmpdir(), 'spotcheck-ping-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'ping');
  const log = join(directory, 'log');
  await writeFile(log, '');
  const script =
    `#!/bin/sh\nprintf '%s\\n' "$*" >> '${log}'\ncase "$*" in *' ` +
    `127.0.0.1')\n${ANSWERS};;\n*)\n${otherwise(directory)};;\nesac\n`;
  await writeFile(path, script, { mode: 0o755 });
  const linesOf = async () => (await readFile(log, 'utf8')).trim().split('\n');
  return { directory, path, linesOf };
}

async function open(t: ExecutionContext, path: string): Promise<EchoMeans> {
  // The self-test has two seconds: a busy machine may miss them once, but not every time.
  const means = await until(() => openPingProgram(4, path));
  t.is(means.kind, 'ping program');
  return means;
}

test('a program that is missing or may not send is not used', async (t) => {
  t.is(await openPingProgram(4, '/nowhere/ping'), null);
  const { path } = await startProgram(t, () => `echo 'PING ::1'; echo 'permission denied' >&2; exit 1`);
  t.is(await openPingProgram(6, path), null);
});

test('count, gap and address are passed to the program, and its figures are returned', async (t) => {
  const { path, linesOf } = await startProgram(t, () => ANSWERS);
  const means = await open(t, path);
  t.deepEqual(await means.measure({ address: '192.0.2.1', count: 3, deadlineMs: 60_000 }), {
    outcome: 'measured',
    sent: 1,
    roundTripsMs: [0.08],
  });
  t.is((await linesOf()).at(-1), '-n -c 3 -i 0.2 192.0.2.1');
});

test('at most as many requests are made as fit into the first half of the deadline', async (t) => {
  const { path, linesOf } = await startProgram(t, () => ANSWERS);
  const means = await open(t, path);
  await means.measure({ address: '192.0.2.1', count: 100, deadlineMs: 10_200 });
  t.regex((await linesOf()).at(-1) ?? '', /^-n -c 26 /);
});

test('a program without replies is interrupted at the deadline and reports its counts', async (t) => {
  const { path } = await startProgram(t, () => WAITS_IN_SILENCE);
  const means = await open(t, path);
  // An interrupted program has a second to report: a busy machine may miss it once, but not every time.
  const { outcome, tookMs } = await until(async () => {
    const startedAtMs = performance.now();
    const measured = await means.measure({ address: '192.0.2.1', count: 3, deadlineMs: 6000 });
    return measured.outcome === 'measured' && { outcome: measured, tookMs: performance.now() - startedAtMs };
  });
  t.deepEqual(outcome, { outcome: 'measured', sent: 3, roundTripsMs: [] });
  t.true(tookMs >= 5999);
});

test('a program that cannot send is unavailable rather than a failed target', async (t) => {
  const { path } = await startProgram(t, () => `echo 'connect: Network is unreachable' >&2; exit 2`);
  const means = await open(t, path);
  t.like(await means.measure({ address: '192.0.2.1', count: 3, deadlineMs: 60_000 }), { outcome: 'unavailable' });
});

/** Waits until the test creates the file `go`, then answers. */
const answersOnceTold = (directory: string) => `until [ -e '${directory}/go' ]; do sleep 0.05; done\n${ANSWERS}`;

test('at most 32 programs run concurrently, and further rounds wait', async (t) => {
  const { directory, path, linesOf } = await startProgram(t, answersOnceTold);
  const means = await open(t, path);
  const rounds = Array.from({ length: 40 }, () =>
    means.measure({ address: '192.0.2.1', count: 1, deadlineMs: 60_000 }),
  );
  const running = async () => (await linesOf()).filter((line) => line.endsWith('192.0.2.1')).length;
  await until(async () => (await running()) >= 32);
  t.is(await running(), 32);
  await writeFile(join(directory, 'go'), '');
  const outcomes = await Promise.all(rounds);
  t.is(await running(), 40);
  t.true(outcomes.every(({ outcome }) => outcome === 'measured'));
});

test('a round that had to wait for half its deadline is unavailable rather than a slow target', async (t) => {
  const { directory, path } = await startProgram(t, answersOnceTold);
  const means = await open(t, path);
  const first = Array.from({ length: 32 }, () => means.measure({ address: '192.0.2.1', count: 1, deadlineMs: 60_000 }));
  const startedAtMs = performance.now();
  const late = means.measure({ address: '192.0.2.2', count: 1, deadlineMs: 200 });
  await until(() => performance.now() - startedAtMs > 150);
  await writeFile(join(directory, 'go'), '');
  t.like(await late, { outcome: 'unavailable', reason: 'Too many ping programs were running on the probing machine' });
  t.true((await Promise.all(first)).every(({ outcome }) => outcome === 'measured'));
});

const IPUTILS = `PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.
64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.080 ms
64 bytes from 127.0.0.1: icmp_seq=2 ttl=64 time=12.5 ms

--- 127.0.0.1 ping statistics ---
3 packets transmitted, 2 received, 33.3333% packet loss, time 403ms
rtt min/avg/max/mdev = 0.080/6.290/12.500/6.210 ms
`;

const BUSYBOX = `PING ::1 (::1): 56 data bytes
64 bytes from ::1: seq=0 ttl=64 time=0.040 ms
64 bytes from ::1: seq=1 ttl=64 time=0.080 ms

--- ::1 ping statistics ---
2 packets transmitted, 2 packets received, 0% packet loss
round-trip min/avg/max = 0.040/0.060/0.080 ms
`;

const SILENT = `PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.

--- 127.0.0.1 ping statistics ---
3 packets transmitted, 0 received, 100% packet loss, time 408ms

`;

const UNREACHABLE = `PING 240.0.0.1 (240.0.0.1) 56(84) bytes of data.
From 192.0.2.1 icmp_seq=1 Destination Host Unreachable
From 192.0.2.1 icmp_seq=2 Destination Host Unreachable

--- 240.0.0.1 ping statistics ---
2 packets transmitted, 0 received, +2 errors, 100% packet loss, time 200ms

`;

const DUPLICATED = `PING 192.0.2.255 (192.0.2.255) 56(84) bytes of data.
64 bytes from 192.0.2.7: icmp_seq=1 ttl=64 time=0.3 ms
64 bytes from 192.0.2.8: icmp_seq=1 ttl=64 time=9.9 ms (DUP!)

--- 192.0.2.255 ping statistics ---
1 packets transmitted, 1 received, +1 duplicates, 0% packet loss, time 0ms
rtt min/avg/max/mdev = 0.300/5.100/9.900/4.800 ms
`;

const SHAPES: Record<string, [text: string, sent: number, roundTripsMs: number[]]> = {
  'iputils, one of three lost': [IPUTILS, 3, [0.08, 12.5]],
  'BusyBox, over IPv6': [BUSYBOX, 2, [0.04, 0.08]],
  'no replies, interrupted': [SILENT, 3, []],
  'errors from a router instead of the target': [UNREACHABLE, 2, []],
  'a duplicate, which counts once': [DUPLICATED, 1, [0.3]],
};
for (const [what, [text, sent, roundTripsMs]] of Object.entries(SHAPES)) {
  test(`the output of ping is read: ${what}`, (t) => {
    t.deepEqual(readPingOutput(text), { outcome: 'measured', sent, roundTripsMs });
  });
}

for (const text of [
  '',
  'PING 127.0.0.1 (127.0.0.1): 56 data bytes\n',
  'PING a (192.0.2.1)\n--- a ping statistics ---\n0 packets transmitted, 0 received\n',
]) {
  test(`a ping that sent nothing measured nothing: ${JSON.stringify(text)}`, (t) => {
    t.is(readPingOutput(text), null);
  });
}
