import { basename } from 'node:path';
import { mendAva } from './tools/mend-ava.ts';

mendAva();

// What takes longest begins first: at the end the run does not wait for one long file. First single files that take a
// minute and more, one that computes beside one that waits, then whatever starts programs and browsers, of all kinds
// in turn, for many of a kind at once would want the same at the same time; those of `core`, half a second each, fill
// up the end.
const LONGEST_FIRST = [
  ['/test/deploy/image', '/test/faults/killed-processes', '/test/faults/clocks'],
  ['/test/e2e/start-up', '/test/e2e/agents', '/test/console/barriers', '/test/clients/', '/test/cli/options'],
  ['/test/faults/', '/test/fuzz/requests'],
  [
    '/test/e2e/',
    '/test/simulation/chaos/',
    '/test/cli/',
    '/test/console/',
    '/test/attackers/',
    '/test/fuzz/',
    '/test/queues/',
    '/test/tools/',
  ],
  [
    '/test/models/statistics/report-year',
    '/test/workers/alerts/large-outage',
    '/test/workers/heartbeats/watch',
    '/test/workers/statistics/rollups',
  ],
  ['/test/workers/', '/test/api/', '/test/models/'],
  ['/test/probes/', '/test/agent/', '/test/notifications/', '/test/net/'],
  ['/test/'],
];
const placeOf = (path) => LONGEST_FIRST.findIndex((parts) => parts.some((part) => path.includes(part)));
const compareTexts = (a, b) => (a < b ? -1 : Number(a > b));

// Tests are TypeScript that Node runs as it is; their files share processes (tools/test-processes.ts).
export default {
  files: ['test/**/*.test.ts'],
  extensions: ['ts'],
  workerThreads: false,
  // Of silence in the whole run. The runner (tools/test.ts) ends one earlier and names its files. No test has a bound of
  // its own: how long one takes depends on what else the machine does.
  timeout: '300s',
  sortTestFiles: (a, b) => placeOf(a) - placeOf(b) || compareTexts(basename(a), basename(b)) || compareTexts(a, b),
};
