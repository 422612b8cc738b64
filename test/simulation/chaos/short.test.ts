import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { CHANNELS } from '../../../simulation/chaos/channels.ts';
import { SMALL_FLEET } from '../../../simulation/chaos/fleet.ts';
import { runChaos } from '../../../simulation/chaos/run.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { findFaketime } from '../../helpers/set-clock.ts';
import { testDataDirectory } from '../../helpers/test-servers.ts';

/**
 * Faults that end within seconds. A Redis that lost its schedules takes up to half a minute; `npm run chaos` covers
 * that.
 */
const KINDS = [
  'kill',
  'postgres-stop',
  'postgres-freeze',
  'redis-freeze',
  'receiver',
  'slow-link',
  'lossy-link',
  ...(findFaketime() === null ? [] : (['clock'] as const)),
] as const;

const SEED = 1;

/** Channels whose alerts are all sent within seconds: no quiet hours, reminders or groups. */
const SHORT_CHANNELS = new Set(['Escalation', 'Tagged', 'Parents', 'Chat']);

// The test starts its own Redis if one is installed; otherwise the runner reports its absence.
const isRedisInstalled = listQueueBackends().some(({ redisUrl }) => redisUrl !== null);

if (isRedisInstalled)
  test('a small fleet survives some seconds of faults with nothing missed, false, lost or duplicated', async (t) => {
    const folder = await mkdtemp(join(testDataDirectory(), 'spotcheck-chaos-'));
    t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
    const lines: string[] = [];
    const sheet = await runChaos(t, {
      seed: SEED,
      seconds: 14,
      monitors: 24,
      size: SMALL_FLEET,
      kinds: KINDS,
      channels: CHANNELS.filter(({ name }) => SHORT_CHANNELS.has(name)),
      longestMs: 3000,
      apartMs: [1000, 3500],
      quietMs: 5000,
      folder,
      log: (line) => void lines.push(line),
    });
    // A machine that is too slow for any client makes the run inconclusive.
    t.deepEqual(sheet.isConclusive ? sheet.found : [], [], lines.join('\n'));
    t.true((sheet.figures['transitions'] ?? 0) > 24, JSON.stringify(sheet.figures));
  });
