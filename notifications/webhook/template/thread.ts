import { parentPort } from 'node:worker_threads';
import { RENDER_MS, TOO_MUCH, type Rendered } from '../../../core/alerts/webhook.ts';
import { giveWay, runWithin, threadMs } from '../../../threads/bounded-run.ts';
import type { ThreadAnswer } from '../../../threads/compute-thread.ts';
import { renderTemplate } from './engine.ts';

/** A template to render, and its variables. */
export type RenderTask = { template: string; variables: object };

giveWay();

parentPort?.on('message', (task: RenderTask) => {
  const beganMs = threadMs();
  const outcome = render(task);
  parentPort?.postMessage({ ...outcome, spentMs: threadMs() - beganMs } satisfies ThreadAnswer<Rendered>, []);
});

function render({
  template,
  variables,
}: RenderTask): { outcome: 'done'; result: Rendered } | { outcome: 'threw'; message: string } {
  let result = TOO_MUCH;
  try {
    runWithin(RENDER_MS, () => (result = renderTemplate(template, variables)));
    return { outcome: 'done', result };
  } catch (error) {
    return { outcome: 'threw', message: String(error) };
  }
}
