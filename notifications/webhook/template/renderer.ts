import { Worker } from 'node:worker_threads';
import type { Rendered } from './engine.ts';
import type { RenderOrder } from './thread.ts';

/** Renders templates away from the thread that everybody's deliveries share. */
export type TemplateRenderer = {
  render: (template: string, variables: object) => Promise<Rendered>;
  /** Ends the thread; what is being rendered then has failed. */
  close: () => Promise<void>;
};

/**
 * The longest that one rendering may take, in milliseconds. Liquid gives up after 50 by itself; the rest is the start of
 * a thread on a busy machine.
 */
const DEADLINE_MS = 2000;

const TOO_LONG: Rendered = { ok: false, problem: 'takes too long to render' };

type Waiting = RenderOrder & { resolve: (rendered: Rendered) => void };

/**
 * Makes the renderer of a process. Its thread starts with the first template, renders one after the other, and is
 * replaced when one takes longer than `deadlineMs`.
 */
export function createTemplateRenderer(deadlineMs = DEADLINE_MS): TemplateRenderer {
  const waiting: Waiting[] = [];
  let thread: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;

  const start = (): Worker => {
    const started = new Worker(new URL('thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    });
    started.unref();
    started.on('message', (rendered: Rendered) => finish(rendered));
    started.on('error', (error) => giveUp(started, { ok: false, problem: `cannot be rendered: ${error.message}` }));
    return started;
  };
  const next = (): void => {
    const [order] = waiting;
    if (order === undefined) return thread?.unref();
    const current = (thread ??= start());
    current.ref();
    timer = setTimeout(() => giveUp(current, TOO_LONG), deadlineMs);
    current.postMessage({ template: order.template, variables: order.variables } satisfies RenderOrder);
  };
  const finish = (rendered: Rendered): void => {
    clearTimeout(timer);
    waiting.shift()?.resolve(rendered);
    next();
  };
  const giveUp = (given: Worker, rendered: Rendered): void => {
    if (given !== thread) return;
    thread = undefined;
    given.removeAllListeners('message');
    void given.terminate();
    finish(rendered);
  };

  return {
    render(template, variables) {
      return new Promise((resolve) => {
        waiting.push({ template, variables, resolve });
        if (waiting.length === 1) next();
      });
    },
    async close() {
      clearTimeout(timer);
      for (const { resolve } of waiting.splice(0))
        resolve({ ok: false, problem: 'was not rendered: the service stopped' });
      await thread?.terminate();
      thread = undefined;
    },
  };
}
