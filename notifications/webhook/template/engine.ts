import { Liquid, LiquidError } from 'liquidjs';
import { MOST_RENDERED_BYTES, MOST_TEMPLATE_LENGTH } from '../../../core/alerts/webhook-format.ts';

/** What came of rendering; `problem` continues a sentence that begins with what was rendered. */
export type Rendered = { ok: true; text: string } | { ok: false; problem: string };

/** Tags that read files, or whose work is not bounded by what they print. */
const LEFT_OUT = ['include', 'render', 'layout', 'block', 'tablerow'];

/** Liquid's own limits: milliseconds of one rendering, and characters that its filters may make. */
const RENDER_MS = 50;
const MOST_FILTERED = 4 * MOST_RENDERED_BYTES;

const engine = new Liquid({
  strictFilters: true,
  ownPropertyOnly: true,
  parseLimit: MOST_TEMPLATE_LENGTH,
  renderLimit: RENDER_MS,
  memoryLimit: MOST_FILTERED,
  templates: {},
});
for (const tag of LEFT_OUT) delete engine.tags[tag];

/**
 * Renders a template. Liquid checks its limits between two steps: whoever calls this ends the thread that it runs in
 * when it takes too long.
 */
export function renderTemplate(template: string, variables: object): Rendered {
  try {
    const text: string = engine.parseAndRenderSync(template, variables);
    const bytes = Buffer.byteLength(text);
    return bytes <= MOST_RENDERED_BYTES
      ? { ok: true, text }
      : { ok: false, problem: `renders ${bytes} bytes, at most ${MOST_RENDERED_BYTES} are sent` };
  } catch (error) {
    return error instanceof Error && error.message.includes('limit exceeded')
      ? TOO_MUCH
      : { ok: false, problem: describe(error) };
  }
}

/** The answer to a template that does not end in time. */
export const TOO_MUCH: Rendered = {
  ok: false,
  problem: `renders too much: at most ${RENDER_MS} ms and ${MOST_RENDERED_BYTES} bytes are allowed`,
};

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'cannot be rendered';
  return LiquidError.is(error) ? `is not valid Liquid: ${error.message}` : `cannot be rendered: ${error.message}`;
}
