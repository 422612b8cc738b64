import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MAX_RETRIES } from '../../core/alerts/retries.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { listOf } from '../../test/helpers/api-client.ts';
import { mountBoundedDisk } from '../../test/helpers/bounded-disk.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { listNames, watchApi } from './api-watch.ts';
import { channelOfChat, CHANNELS, type ChaosChannel } from './channels.ts';
import type { Facts } from './facts.ts';
import { KINDS, planFaults, type FaultKind, type RedisKind } from './faults.ts';
import { listMembers, type FleetSize } from './fleet.ts';
import { DATA, startChaosHarness, type ChaosHarness } from './harness.ts';
import { injectFaults } from './inject.ts';
import { judgeRun, type Sheet } from './judge.ts';
import { watchMachine } from './machine.ts';
import { readRecord, readServiceStatus } from './record.ts';
import { conditionAt, writeScript, type MonitorScript } from './script.ts';

export type RunOptions = {
  seed: number;
  seconds: number;
  monitors: number;
  size: FleetSize;
  /** Backend of the queues. */
  redis?: RedisKind;
  /** Kinds of faults that may occur; by default all. */
  kinds?: readonly FaultKind[];
  /** Channels other than the one that gets everything; by default all. */
  channels?: readonly ChaosChannel[];
  /** Longest freeze or disconnection, in milliseconds. */
  longestMs: number;
  /** Time between the starts of two faults, in milliseconds. */
  apartMs: readonly [number, number];
  /** Quiet time after all faults in which every check has to be on time, in milliseconds. */
  quietMs: number;
  /** Folder of logs and data. */
  folder: string;
  log: (line: string) => void;
};

/** Size of a disk that is filled at times, for the data, a log of 256 MiB plus half at worst, and a reserve. */
const DISK_MIB = 640;

/** Time limit after the last fault for everything to work again, in milliseconds. */
const WHOLE_WITHIN_MS = 60_000;

/**
 * Additional time for the last deliveries, in milliseconds: groups gather, alerts wait for parents, reminders are due
 * later.
 */
const SENT_WITHIN_MS = 40_000;

/**
 * Time limit for storing results of the quiet time, in milliseconds. Checks of silent targets last until the timeout,
 * just below the longest interval of 5 s, and batches wait for 3 s.
 */
const STORED_WITHIN_MS = 10_000;

/**
 * Runs the fleet through the faults of a seed and judges it; the facts are stored beside the logs, in facts.json. The
 * same seed with the same options produces the same script and the same faults.
 */
export async function runChaos(harness: Harness, options: RunOptions): Promise<Sheet> {
  const {
    seed,
    seconds,
    monitors,
    size,
    redis = 'server',
    kinds = KINDS,
    channels = CHANNELS,
    longestMs,
    apartMs,
    quietMs,
    folder,
    log,
  } = options;
  const scripts = writeScript(seed, { monitors, seconds });
  const plan = (possible: readonly FaultKind[]) =>
    planFaults(seed, {
      seconds,
      processes: listMembers(size).map(({ name }) => name),
      kinds: possible,
      redis,
      longestMs,
      apartMs,
    });
  const isOfDisk = (kind: FaultKind) => kind === 'disk';
  const wanted = plan(kinds);
  const disk = wanted.some(({ fault }) => isOfDisk(fault.kind))
    ? await mountBoundedDisk(join(folder, DATA), DISK_MIB)
    : null;
  if (disk !== null) harness.teardown(disk.unmount);
  const isLeftOut = disk === null && wanted.some(({ fault }) => isOfDisk(fault.kind));
  if (isLeftOut) log('faults of the kind disk are left out: a disk of a bounded size can be mounted by root alone');
  const planned = isLeftOut ? plan(kinds.filter((kind) => !isOfDisk(kind))) : wanted;
  const chaos = await startChaosHarness(harness, { folder, size, redis, scripts, channels, disk });
  const machine = await watchMachine(harness, chaos.targets.urlOf(-1));
  const beganAtMs = Date.now();
  chaos.targets.begin(beganAtMs);
  log(`the script begins; ${monitors} monitors, ${planned.length} faults`);
  const api = watchApi(chaos);
  harness.teardown(api.stop);
  const suffered = await injectFaults(chaos, planned, { beganAtMs, log });
  await delay(Math.max(0, beganAtMs + seconds * 1000 - Date.now()));
  log(`${((Date.now() - beganAtMs) / 1000).toFixed(1).padStart(6)} s  everything is over`);
  await settle(chaos, scripts, beganAtMs);
  if (await sendExhaustedAgain(chaos, beganAtMs - WHOLE_WITHIN_MS)) await settle(chaos, scripts, beganAtMs);
  await api.stop();
  const fromMs = Date.now();
  await delay(quietMs + STORED_WITHIN_MS);
  const { pendingDeliveries } = await readServiceStatus(chaos.servers.databaseUrl, beganAtMs);
  const record = await readRecord(chaos.servers.databaseUrl, beganAtMs - WHOLE_WITHIN_MS);
  const names = new Set(await listNames(chaos.call));
  const facts: Facts = {
    beganAtMs,
    judgedAtMs: Date.now(),
    scripts,
    monitorIds: chaos.monitorIds,
    suffered,
    quiet: { fromMs, toMs: fromMs + quietMs },
    requests: [...chaos.targets.requests],
    received: [...chaos.receiver.received],
    chats: chaos.receiver.chats.map((message) => ({ ...message, channel: channelOfChat(message.chatId) })),
    channels,
    quietUntilMs: chaos.quietUntilMs,
    record,
    pendingDeliveries,
    ended: chaos.fleet.ended,
    faultyAnswers: api.answers.faulty,
    machineSlowMs: machine.slowMs(),
    lostMonitors: api.answers.created.filter((name) => !names.has(name)),
  };
  await writeFile(join(folder, 'facts.json'), JSON.stringify(facts));
  return judgeRun(facts);
}

/**
 * Resends deliveries that channels lost because all attempts failed during faults, as their owner would; false if there
 * were none. If any delivery of a channel failed before its last attempt, all of them stay failed, and the judge finds
 * them lost.
 */
async function sendExhaustedAgain({ call }: ChaosHarness, sinceMs: number): Promise<boolean> {
  let isAny = false;
  for (const { id } of listOf(await call('GET', '/channels'))) {
    const failed = listOf(await call('GET', `/channels/${String(id)}/deliveries?outcome=failed&limit=1000`));
    if (failed.length === 0 || !failed.every((delivery) => Number(delivery['attempt_count']) > MAX_RETRIES)) continue;
    const { status, json } = await call('POST', `/channels/${String(id)}/replay`, { since: toUnixSeconds(sinceMs) });
    if (status !== 200) throw new Error(JSON.stringify(json));
    isAny = true;
  }
  return isAny;
}

/**
 * Waits until each source has reported again, all states are right and no delivery is pending, up to the service's
 * limit. The judge finds everything that is not settled by then.
 */
async function settle(
  { servers, monitorIds }: ChaosHarness,
  scripts: readonly MonitorScript[],
  beganAtMs: number,
): Promise<void> {
  const overAtMs = Date.now();
  const isWhole = async (): Promise<boolean> => {
    const { states, pendingDeliveries, oldestResultMs } = await readServiceStatus(servers.databaseUrl, beganAtMs);
    const isTrue = scripts.every(
      (script) => states.get(monitorIds[script.index] ?? '') === conditionAt(script, Number.POSITIVE_INFINITY),
    );
    return isTrue && pendingDeliveries === 0 && oldestResultMs > overAtMs;
  };
  while (Date.now() < overAtMs + WHOLE_WITHIN_MS + SENT_WITHIN_MS && !(await isWhole())) await delay(1000);
}
