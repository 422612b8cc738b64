declare global {
  /** Answers that `early.js` asked for before the console was there, by their addresses. */
  var spotcheckEarlyAnswers: Map<string, Promise<Response>> | undefined;
}

/**
 * The answer to what was asked for before the console was there; undefined where it was not, or is taken.
 */
export function takeEarlyAnswer(url: string): Promise<Response> | undefined {
  const answer = globalThis.spotcheckEarlyAnswers?.get(url);
  globalThis.spotcheckEarlyAnswers?.delete(url);
  return answer;
}

/** Drops all of it: what was not taken at once is soon too old. */
export function forgetEarlyAnswers(): void {
  globalThis.spotcheckEarlyAnswers = undefined;
}
