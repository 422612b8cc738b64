import { parentPort } from 'node:worker_threads';
import { renderTemplate } from './engine.ts';

/** What a thread is asked to render; it answers with a `Rendered`. */
export type RenderOrder = { template: string; variables: object };

parentPort?.on('message', ({ template, variables }: RenderOrder) => {
  parentPort?.postMessage(renderTemplate(template, variables));
});
