import { CaptureTag, Liquid, LiquidError, type Context } from 'liquidjs';
import { MAX_RENDERED_BYTES, MAX_TEMPLATE_LENGTH, TOO_MUCH, type Rendered } from '../../../core/alerts/webhook.ts';
import { cleanText } from '../../../core/foreign-text.ts';

/** Excluded tags: they read files, or their work is not bounded by their output. */
const LEFT_OUT = ['include', 'render', 'layout', 'block', 'tablerow'];

/** Maximum characters that filters and captures may produce. */
const MAX_MADE = 4 * MAX_RENDERED_BYTES;

/** Counts captured text as filters count theirs: a text that doubles in each round soon has gigabytes. */
class CountedCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    yield* super.render(context);
    context.memoryLimit.use(String(Reflect.get(context.bottom(), this.variable)).length);
  }
}

const engine = new Liquid({
  strictFilters: true,
  ownPropertyOnly: true,
  parseLimit: MAX_TEMPLATE_LENGTH,
  memoryLimit: MAX_MADE,
  templates: {},
});
for (const tag of LEFT_OUT) delete engine.tags[tag];
engine.registerTag('capture', CountedCapture);

/** Renders a template without a time limit: the caller bounds it. */
export function renderTemplate(template: string, variables: object): Rendered {
  try {
    const text: string = engine.parseAndRenderSync(template, variables);
    if (text.length > MAX_RENDERED_BYTES) return TOO_MUCH;
    const bytes = Buffer.byteLength(text);
    return bytes <= MAX_RENDERED_BYTES
      ? { ok: true, text }
      : { ok: false, problem: `renders ${bytes} bytes, at most ${MAX_RENDERED_BYTES} are sent` };
  } catch (error) {
    return error instanceof Error && error.message.includes('limit exceeded')
      ? TOO_MUCH
      : { ok: false, problem: describe(error) };
  }
}

/**
 * Maximum length of an error message: Liquid's messages quote the template and texts that it produced, of any length.
 */
const MAX_PROBLEM_LENGTH = 300;

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'cannot be rendered';
  const message = cleanText(error.message, MAX_PROBLEM_LENGTH);
  return LiquidError.is(error) ? `is not valid Liquid: ${message}` : `cannot be rendered: ${message}`;
}
