import { RENDER_MS, TOO_MUCH, type Rendered } from '../../../core/alerts/webhook.ts';
import { answerTasks, runWithin } from '../../../threads/bounded-run.ts';
import { renderTemplate } from './engine.ts';

/** A template to render, and its variables. */
export type RenderTask = { template: string; variables: object };

answerTasks(({ template, variables }: RenderTask): Rendered => {
  let result = TOO_MUCH;
  runWithin(RENDER_MS, () => (result = renderTemplate(template, variables)));
  return result;
});
