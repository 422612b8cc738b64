import type { Queue } from 'bullmq';
import type { ScheduleChange, SchedulePhase } from '../core/schedule.ts';
import type { QueueBackend } from './connection.ts';
import { checkQueueName, QUEUES } from './names.ts';
import type { CheckJob, DeliverJob, EvaluateJob, MaintainJob, ResultPayload } from './payloads.ts';
import { addPhase, reconcileQueue, removePhase } from './schedules.ts';

/** The chores that the clock enqueues; each has a worker file of its own. */
export const CHORES = ['reconcile', 'sweep', 'partitions', 'retention'] as const;
export type Chore = (typeof CHORES)[number];

/** Results are stored nowhere else yet: while PostgreSQL is away their jobs wait for it, ten minutes long. */
const EVALUATE_OPTIONS = { attempts: 300, backoff: { type: 'fixed', delay: 2000 }, removeOnComplete: true };

/** Everything that adds jobs. Rows are committed before a job is added: a job that is lost can be made again from its row. */
export type JobQueues = {
  /** Tells the queues of an agent's schedule change; `regions` maps agents to the regions that their queues are named by. */
  applyScheduleChange(change: ScheduleChange, regions: ReadonlyMap<number, string>): Promise<void>;
  /** Makes every region's schedulers those of the occupied phases; returns how many had to be mended. */
  reconcileSchedules(occupied: readonly SchedulePhase[], regions: ReadonlyMap<number, string>, when: { nowMs: number; thorough: boolean }): Promise<number>;
  /** Hands measured results to the evaluator. */
  enqueueResults(results: ResultPayload[]): Promise<void>;
  /** Adds the job of one attempt; its id is that of delivery and attempt, so that adding it twice makes one job. */
  enqueueDelivery(attempt: { deliveryId: string; attempt: number; delayMs: number }): Promise<void>;
  /** Adds first attempts, a job for each channel's. */
  enqueueDeliveries(deliveries: readonly { id: string; channelId: string }[]): Promise<void>;
  /** Adds a chore unless one of its kind is still waiting or running. */
  enqueueChore(chore: Chore): Promise<void>;
  /** A region's check queue. */
  checkQueue(region: string): Queue<CheckJob>;
  /** Every queue that is open in this process, for the board and the metrics. */
  all(): Queue[];
  close(): Promise<void>;
};

/** Opens the queues; a region's queue is opened when it is first spoken of. */
export function openJobQueues(backend: QueueBackend): JobQueues {
  const evaluate = backend.createQueue<EvaluateJob>(QUEUES.evaluate);
  const deliver = backend.createQueue<DeliverJob>(QUEUES.deliver);
  const maintain = backend.createQueue<MaintainJob>(QUEUES.maintain);
  const checks = new Map<string, Queue<CheckJob>>();
  const checkQueue = (region: string) => {
    const open = checks.get(region) ?? backend.createQueue<CheckJob>(checkQueueName(region));
    checks.set(region, open);
    return open;
  };
  const queueOf = (place: SchedulePhase, regions: ReadonlyMap<number, string>) => {
    const region = regions.get(place.agentNo);
    return region === undefined ? null : checkQueue(region);
  };
  const all = () => [...checks.values(), evaluate, deliver, maintain];
  return {
    async applyScheduleChange(change, regions) {
      for (const place of change.emptied) {
        const queue = queueOf(place, regions);
        if (queue !== null) await backend.exclusively(() => removePhase(queue, place));
      }
      for (const place of change.occupied) {
        const queue = queueOf(place, regions);
        if (queue !== null) await backend.exclusively(() => addPhase(queue, place));
      }
    },
    async reconcileSchedules(occupied, regions, when) {
      let mended = 0;
      for (const [agentNo, region] of regions) {
        const places = occupied.filter((place) => place.agentNo === agentNo);
        const { added, removed } = await reconcileQueue(checkQueue(region), places, { ...when, exclusively: backend.exclusively });
        mended += added + removed;
      }
      return mended;
    },
    async enqueueResults(results) {
      await evaluate.add('results', { results }, EVALUATE_OPTIONS);
    },
    async enqueueDelivery({ deliveryId, attempt, delayMs }) {
      await deliver.add('deliver', { deliveryIds: [deliveryId] }, attemptOptions(deliveryId, attempt, delayMs));
    },
    async enqueueDeliveries(deliveries) {
      if (deliveries.length === 0) return;
      const ofChannels = [...Map.groupBy(deliveries, ({ channelId }) => channelId).values()].map((group) => group.map(({ id }) => id));
      await deliver.addBulk(ofChannels.map((deliveryIds) => ({ name: 'deliver', data: { deliveryIds }, opts: attemptOptions(deliveryIds[0] ?? '', 1, 0) })));
    },
    async enqueueChore(chore) {
      await maintain.add(chore, {}, { jobId: chore, removeOnComplete: true, removeOnFail: true });
    },
    checkQueue,
    all,
    async close() {
      await Promise.all(all().map((queue) => queue.close()));
    },
  };
}

function attemptOptions(deliveryId: string, attempt: number, delayMs: number) {
  return { jobId: `${deliveryId}-${attempt}`, delay: delayMs, removeOnComplete: true, removeOnFail: true };
}
