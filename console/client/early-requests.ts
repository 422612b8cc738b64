declare global {
  /** Answers that `early.js` asked for before the console was there, by their addresses. */
  var spotcheckEarlyAnswers: Map<string, Promise<Response>> | undefined;
}

/**
 * The answer to what was asked for before the console was there; undefined where it was not, or somebody has taken it.
 */
export function takeEarlyAnswer(url: string): Promise<Response> | undefined {
  const answer = globalThis.spotcheckEarlyAnswers?.get(url);
  globalThis.spotcheckEarlyAnswers?.delete(url);
  return answer;
}

/** Leaves all of it: what nobody took at once is soon too old. */
export function forgetEarlyAnswers(): void {
  globalThis.spotcheckEarlyAnswers = undefined;
}
