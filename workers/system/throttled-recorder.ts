/** A process records each activity at most once in so many milliseconds: readers need minutes, not moments. */
const RECORD_EVERY_MS = 10_000;

export type ThrottledRecorderOptions<Name> = {
  record: (name: Name, nowMs: number) => Promise<void>;
  onFailure: (error: unknown) => void;
};

/**
 * Makes a recorder of what this process has completed, or could not. Most calls do nothing; one that fails is made up
 * for by the next, and its caller does not fail.
 */
export function createThrottledRecorder<Name>({
  record,
  onFailure,
}: ThrottledRecorderOptions<Name>): (name: Name, nowMs: number) => Promise<void> {
  const recordedAtMs = new Map<Name, number>();
  return async (name, nowMs) => {
    // A clock that was set back records anew at once.
    if (Math.abs(nowMs - (recordedAtMs.get(name) ?? 0)) < RECORD_EVERY_MS) return;
    recordedAtMs.set(name, nowMs);
    try {
      await record(name, nowMs);
    } catch (error) {
      recordedAtMs.delete(name);
      onFailure(error);
    }
  };
}
