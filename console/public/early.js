// Runs before anything is painted: a chosen theme that differs from the system's must not flash.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system decides.
}

// What the console asks for first is on its way while its own parts still are; `client/api.ts` takes it.
const base = document.documentElement.dataset.base ?? '';
const ofConsole = ['/v1/session', '/v1/overview', '/v1/incidents?status=open&limit=1000'];
globalThis.spotcheckEarlyAnswers = new Map(
  // A wallboard has no session.
  (location.pathname === `${base}/wall` ? [] : ofConsole).map((url) => {
    const answer = fetch(base + url, { headers: { Accept: 'application/json' } });
    // The taker gets a failure; an untaken one is dropped.
    answer.catch(() => undefined);
    return [url, answer];
  }),
);
