import type { NewDelivery } from '../../models/alerts/deliveries.ts';
import type { Parts } from '../dependencies.ts';

export type FirstAttemptDependencies = Parts<'enqueueAttempts'> & {
  logger: { warn: (fields: object, text: string) => void };
};

/**
 * Adds the jobs of deliveries about lost chats and are committed. A queue that is away costs seconds: the rows
 * are there, and reconcile adds the jobs.
 */
export async function enqueueFirstAttempts(
  { enqueueAttempts, logger }: FirstAttemptDependencies,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  try {
    await enqueueAttempts(
      deliveries.map(({ id, channelId, createdAtMs }) => ({
        deliveryId: id,
        channelId,
        attempt: 1,
        dueAtMs: createdAtMs,
      })),
    );
  } catch (error) {
    logger.warn({ err: error, deliveries: deliveries.length }, 'delivery.not_queued');
  }
}
