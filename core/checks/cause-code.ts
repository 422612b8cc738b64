import { CAUSES } from './verdict.ts';

/**
 * Codes of `status_NNN` start here; below are the fixed causes by their index in the list, which therefore only ever
 * grows.
 */
const STATUS_BASE = 1000;

/**
 * The small number that stands for a cause in stored results; null for a cause that is kept as text (assertions,
 * foreign agents).
 */
export function encodeCause(cause: string): number | null {
  const status = /^status_(\d{3})$/.exec(cause)?.[1];
  if (status !== undefined) return STATUS_BASE + Number(status);
  const index = (CAUSES as readonly string[]).indexOf(cause);
  return index === -1 ? null : index + 1;
}

/** The cause of a code; null for a code that no cause has. */
export function decodeCause(code: number): string | null {
  if (code > STATUS_BASE) return `status_${code - STATUS_BASE}`;
  return CAUSES[code - 1] ?? null;
}

/** How verdicts are stored. */
export const VERDICT_CODES = { none: 0, up: 1, degraded: 2, down: 3 } as const;
