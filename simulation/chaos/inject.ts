import { setTimeout as delay } from 'node:timers/promises';
import { ALL_CLOCKS, describeFault, type Fault, type FaultKind, type PlannedFault } from './faults.ts';
import type { ChaosHarness } from './harness.ts';

/** A fault as it happened: from its start until everything worked again; Unix milliseconds. */
export type SufferedFault = { fault: Fault; fromMs: number; toMs: number };

type Injector<Kind extends FaultKind> = (harness: ChaosHarness, fault: Extract<Fault, { kind: Kind }>) => Promise<void>;

/** The implementation of each kind of fault; resolves when it is over. */
const INJECTORS: { [Kind in FaultKind]: Injector<Kind> } = {
  kill: ({ fleet }, { process, forMs }) => fleet.kill(process, forMs),
  'postgres-stop': ({ servers }, { isHard }) => servers.stopPostgres(isHard),
  async 'postgres-freeze'({ servers }, { forMs }) {
    await servers.freezePostgres();
    await delay(forMs);
    await servers.thawPostgres();
  },
  disk: ({ servers }, { forMs }) => servers.fillDisk(forMs),
  async 'redis-restart'({ servers }, { forMs }) {
    await servers.stopRedis();
    await delay(forMs);
    await servers.startRedis();
  },
  async 'redis-freeze'({ servers }, { forMs }) {
    servers.freezeRedis();
    await delay(forMs);
    servers.thawRedis();
  },
  'redis-flush': ({ servers }) => servers.flushRedis(),
  async 'redis-node-kill'({ servers }, { master, forMs }) {
    const index = await servers.findRedisMaster(master);
    await servers.cluster?.kill(index);
    await delay(forMs);
    await servers.cluster?.start(index);
  },
  'redis-promote': async ({ servers }, { master }) =>
    servers.cluster?.promoteReplicaOf(await servers.findRedisMaster(master)),
  'redis-slot': async ({ servers }, { queue }) => servers.cluster?.migrateSlotOf(queue),
  async 'second-clock'({ startSecondClock }, { forMs }) {
    const end = startSecondClock();
    await delay(forMs);
    await end();
  },
  async receiver({ receiver }, { answer, forMs }) {
    receiver.behave(answer);
    await delay(forMs);
    receiver.behave('good');
  },
  async 'slow-link'({ links }, { link, delayMs, forMs }) {
    links.get(link)?.slow(delayMs);
    await delay(forMs);
    links.get(link)?.slow(0);
  },
  async 'lossy-link'({ links }, { link, forMs }) {
    links.get(link)?.stall();
    await delay(forMs);
    links.get(link)?.reset();
  },
  async clock({ clocks }, { whose, aheadSeconds, forMs }) {
    const set = whose === ALL_CLOCKS ? [...clocks.values()] : [clocks.get(whose)];
    await Promise.all(set.map((clock) => clock?.set(aheadSeconds)));
    await delay(forMs);
    await Promise.all(set.map((clock) => clock?.set(0)));
  },
};

/** Injects all planned faults at their times; resolves when the last one is over. */
export async function injectFaults(
  harness: ChaosHarness,
  planned: readonly PlannedFault[],
  { beganAtMs, log }: { beganAtMs: number; log: (line: string) => void },
): Promise<SufferedFault[]> {
  const suffered = planned.map(async ({ atMs, fault }): Promise<SufferedFault> => {
    await delay(beganAtMs + atMs - Date.now());
    const fromMs = Date.now();
    log(`${((fromMs - beganAtMs) / 1000).toFixed(1).padStart(6)} s  ${describeFault(fault)}`);
    await inject(harness, fault);
    return { fault, fromMs, toMs: Date.now() };
  });
  return await Promise.all(suffered);
}

/** Calls the implementation of a fault's kind; the type of the table guarantees that they match. */
function inject(harness: ChaosHarness, fault: Fault): Promise<void> {
  const injector = INJECTORS[fault.kind] as Injector<FaultKind>;
  return injector(harness, fault);
}
