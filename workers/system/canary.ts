import { CANARY_PATH } from '../../core/system/canary.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { withAdvisoryLock } from '../../models/sql.ts';
import { listCanaryAddresses, replaceEnvironmentAddresses } from '../../models/system/canary-addresses.ts';
import {
  arrangeCanary,
  deleteOldCanaryHistory,
  findCanary,
  isCanaryAtRest,
  isCanaryCheckedEverywhere,
  markCanary,
  pauseCanary,
} from '../../models/system/canary.ts';
import type { Runtime } from '../runtime.ts';

/**
 * `urls` are the addresses of the environment; `target` is the base URL at which check processes reach `web`, null for
 * the public URL.
 */
export type CanaryOptions = { urls: readonly string[]; target: string | null; seconds: number };

const BY_COMMAND: CanaryOptions = { urls: [], target: null, seconds: 30 };

/** Retention of the canary's history, in milliseconds: two changes a minute, which no customer needs. */
const KEPT_MS = 10 * MINUTE_MS;

/** Checks without a change after which the canary is stuck. */
const STUCK_AFTER_CHECKS = 3;

type Kept = { addresses: number };

/**
 * Creates the chore that keeps the canary. The canary runs if an address is set, is checked from everywhere, and may
 * change once more, because `clock` and `maintain` work. Its old history is deleted. Logs once when it is stuck.
 */
export function createCanaryKeeper(
  runtime: Pick<Runtime, 'database' | 'queues' | 'log' | 'newId' | 'now' | 'publicUrl'>,
  { urls, target, seconds }: CanaryOptions = BY_COMMAND,
): () => Promise<Kept> {
  const { database, queues, log, newId, now, publicUrl } = runtime;
  const base = target ?? publicUrl;
  let isStuck = false;
  let hasTooMany = false;

  const watch = async (nowMs: number) => {
    const canary = await findCanary(database);
    if (canary === null) return;
    const { state, stateSinceMs, reason } = canary;
    const stands = nowMs - stateSinceMs > STUCK_AFTER_CHECKS * seconds * 1000;
    if (stands && !isStuck)
      log.warn({ state, since: stateSinceMs, reason, target: `${base}${CANARY_PATH}` }, 'canary.stuck');
    if (!stands && isStuck) log.info({ state }, 'canary.works');
    isStuck = stands;
  };

  const keep = async (): Promise<Kept> => {
    const nowMs = now();
    const fits = await replaceEnvironmentAddresses(database, urls, { newId, nowMs });
    if (!fits && !hasTooMany) log.warn({ addresses: urls.length }, 'canary.too_many_addresses');
    hasTooMany = !fits;
    const { length: addresses } = await listCanaryAddresses(database);
    const schedule =
      addresses === 0
        ? await pauseCanary(database, nowMs)
        : await arrangeCanary(database, { target: `${base}${CANARY_PATH}`, intervalSeconds: seconds, nowMs });
    if (schedule.occupied.length + schedule.emptied.length > 0)
      await queues.applyScheduleChange(schedule, await listCheckRegions(database));
    if (addresses === 0) return { addresses };
    if (await isCanaryCheckedEverywhere(database, nowMs)) await markCanary(database, nowMs);
    await deleteOldCanaryHistory(database, nowMs - KEPT_MS);
    await watch(nowMs);
    return { addresses };
  };

  return async () => {
    if (urls.length === 0 && (await isCanaryAtRest(database))) return { addresses: 0 };
    return (await withAdvisoryLock(database, 'canary', keep)) ?? { addresses: 0 };
  };
}
