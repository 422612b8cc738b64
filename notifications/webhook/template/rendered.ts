import { MAX_RENDERED_BYTES } from '../../../core/alerts/webhook.ts';

/** What came of rendering; `problem` continues a sentence that begins with what was rendered. */
export type Rendered = { ok: true; text: string } | { ok: false; problem: string };

/**
 * The processor time of one template, in milliseconds, which its thread bounds. Liquid's own limit goes by the wall's
 * clock: on a busy machine it would refuse what takes no time.
 */
export const RENDER_MS = 250;

/** The answer to a template that does not end in time. */
export const TOO_MUCH: Rendered = {
  ok: false,
  problem: `renders too much: at most ${RENDER_MS} ms of processor time and ${MAX_RENDERED_BYTES} bytes are allowed`,
};
