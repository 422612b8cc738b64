import { TOO_MUCH, type Rendered } from '../../../core/alerts/webhook.ts';
import { ComputeThread } from '../../../threads/compute-thread.ts';
import type { RenderTask } from './thread.ts';

/** Renders templates beside the event loop, for all accounts in turn. */
export type TemplateRenderer = {
  render: (task: RenderTask, account: string) => Promise<Rendered>;
  /** Ends the thread; tasks that wait for it are not rendered. */
  close: () => Promise<void>;
};

/** Size of a task without its template, in bytes: about an envelope's. */
const TASK_BYTES = 4096;

const TOO_MANY: Rendered = { ok: false, problem: 'was not rendered: too many templates are waiting', isLate: true };

/** Creates the renderer of a process. Its thread starts with the first template. */
export function createTemplateRenderer(): TemplateRenderer {
  const thread = new ComputeThread<RenderTask, Rendered>(new URL('thread.ts', import.meta.url));
  return {
    async render(task, account) {
      const bytes = TASK_BYTES + 2 * task.template.length;
      try {
        const computed = await thread.run(task, { account, bytes, takesLong: false });
        return computed?.result ?? TOO_MANY;
      } catch {
        return TOO_MUCH;
      }
    },
    close: () => thread.close(),
  };
}
