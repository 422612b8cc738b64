import { parseArgs } from 'node:util';
import { createHarnesses } from '../test/helpers/harness.ts';
import { agentIdle } from './agent-idle.ts';
import { alert } from './alert.ts';
import { api } from './api.ts';
import type { Benchmark } from './benchmark.ts';
import { bulk } from './bulk.ts';
import { consolePage } from './console.ts';
import { deliver } from './deliver.ts';
import { dependencies } from './dependencies.ts';
import { drill } from './drill.ts';
import { evaluate } from './evaluate.ts';
import { fleet } from './fleet.ts';
import { heartbeats } from './heartbeats.ts';
import { idle } from './idle.ts';
import { isolation } from './isolation.ts';
import { judging } from './judging.ts';
import { live } from './live.ts';
import { load } from './load.ts';
import { maintenance } from './maintenance.ts';
import { metrics } from './metrics.ts';
import { mixed } from './mixed.ts';
import { peers } from './peers.ts';
import { pipeline } from './pipeline.ts';
import { probeDns } from './probe-dns.ts';
import { probeHttp } from './probe-http.ts';
import { probeIcmp } from './probe-icmp.ts';
import { probeTcp } from './probe-tcp.ts';
import { probeUdp } from './probe-udp.ts';
import { createReport } from './report.ts';
import { rollup } from './rollup.ts';
import { schedules } from './schedules.ts';
import { sign } from './sign.ts';
import { statistics } from './statistics.ts';
import { store } from './store.ts';
import { storm } from './storm.ts';

/** Every benchmark by name. */
const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  sign,
  'probe-http': probeHttp,
  'probe-icmp': probeIcmp,
  'probe-tcp': probeTcp,
  'probe-udp': probeUdp,
  'probe-dns': probeDns,
  evaluate,
  api,
  deliver,
  isolation,
  bulk,
  alert,
  drill,
  storm,
  heartbeats,
  dependencies,
  maintenance,
  judging,
  live,
  console: consolePage,
  rollup,
  store,
  statistics,
  metrics,
  pipeline,
  mixed,
  load,
  fleet,
  schedules,
  'agent-idle': agentIdle,
  idle,
  peers,
};

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no benchmark named ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}\n`,
  );
  process.exit(2);
}

const write = (line: string) => void process.stdout.write(`${line}\n`);
const { withHarness, closeAll } = createHarnesses();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void closeAll().finally(() => process.exit(1));
  });
}

for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  write(name);
  await run({ isQuick: values.quick, report: createReport(write), withHarness });
}
process.exit(0);
