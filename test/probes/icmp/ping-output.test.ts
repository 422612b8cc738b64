import test from 'ava';
import { readPingOutput } from '../../../probes/icmp/ping-program.ts';

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
  'silence, interrupted': [SILENT, 3, []],
  'what a router says instead of the target': [UNREACHABLE, 2, []],
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
