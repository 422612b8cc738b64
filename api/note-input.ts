import { shape, text, type Check, type Problem, type Read } from '../core/monitor-input/checks.ts';
import { cleanNote, MAX_NOTE } from '../core/note-text.ts';

/**
 * A note as it will be stored. What the text was made of before cleaning may have NUL in it and halves of pairs, and
 * all that goes.
 */
const note: Check<string> = (value, field, problems) =>
  text({ min: 1, max: MAX_NOTE })(typeof value === 'string' ? cleanNote(value) : value, field, problems);

const ofNote = shape({ text: note });
const ofAcknowledgement = shape({ note });

/** Reads the body of a note, or everything that is wrong with it. */
export function readNote(body: unknown): Read<string> {
  const problems: Problem[] = [];
  const { text: written } = ofNote(body, '', problems) ?? {};
  if (problems.length > 0) return { ok: false, problems };
  if (written === undefined) return { ok: false, problems: [{ field: 'text', message: 'text is required' }] };
  return { ok: true, value: written };
}

/** Reads the body of an acknowledgement, which may be absent; null where there is no note. */
export function readAcknowledgement(body: unknown): Read<string | null> {
  const problems: Problem[] = [];
  const { note: written } = ofAcknowledgement(body ?? {}, '', problems) ?? {};
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: written ?? null };
}
