/** A process notes each of its doings at most once in so many milliseconds: marks tell minutes, not moments. */
const NOTE_EVERY_MS = 10_000;

export type DoingNotes<Name> = {
  mark: (name: Name, nowMs: number) => Promise<void>;
  onFailure: (error: unknown) => void;
};

/**
 * Makes notes of what this process has seen through, or could not. Most calls do nothing; one that fails is made up for
 * by the next, and nobody fails for it.
 */
export function createDoingNotes<Name>({
  mark,
  onFailure,
}: DoingNotes<Name>): (name: Name, nowMs: number) => Promise<void> {
  const notedAtMs = new Map<Name, number>();
  return async (name, nowMs) => {
    // A clock that was set back notes anew at once.
    if (Math.abs(nowMs - (notedAtMs.get(name) ?? 0)) < NOTE_EVERY_MS) return;
    notedAtMs.set(name, nowMs);
    try {
      await mark(name, nowMs);
    } catch (error) {
      notedAtMs.delete(name);
      onFailure(error);
    }
  };
}
