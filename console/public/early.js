// Runs before anything is painted: a chosen theme that differs from the system's must not flash.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system decides.
}

const base = document.documentElement.dataset.base ?? '';
const isWall = location.pathname === `${base}/wall`;

// During an update a page can name files that do not exist: it is reloaded once, and then shows an error.
let isBroken = false;
const notice = (event) => {
  if (/\/assets\/(index|style)-/.test(event.target.src ?? event.target.href)) isBroken = true;
};
addEventListener('error', notice, true);
addEventListener('load', () => {
  // Without storage the page might reload for ever.
  let isAgain = true;
  try {
    const { reloaded } = sessionStorage;
    if (isBroken) sessionStorage.setItem('reloaded', '');
    else sessionStorage.removeItem('reloaded');
    // A failed write must not allow another reload.
    isAgain = reloaded !== undefined;
  } catch {}
  if (!isBroken) return;
  if (!isAgain) {
    location.reload();
    return;
  }
  document.body.insertAdjacentHTML(
    'afterbegin',
    `<div class="px-6 py-16 text-center text-sm"><p>Can’t load all of this page. Spotcheck may be updating: try again soon.</p>
    <button class="mt-4 h-9 rounded-md bg-accent px-3.5 font-medium text-accent-ink">Reload page</button></div>`,
  );
  document.querySelector('button').addEventListener('click', () => location.reload());
});

// A wallboard has no keyboard: the browser's own error page, as for a server that is away, would stay for good.
const reload = () => fetch(location.pathname).then(({ ok }) => ok && location.reload(), Boolean);
if (isWall) setInterval(() => (isBroken || document.querySelector('main') === null) && reload(), 60_000);

// Requests the console's first data while its own files still load; `client/api.ts` takes the responses.
const ofConsole = ['/v1/session', '/v1/overview', '/v1/incidents?status=open&limit=1000'];
globalThis.spotcheckEarlyAnswers = new Map(
  // A wallboard has no session.
  (isWall ? [] : ofConsole).map((url) => {
    const answer = fetch(base + url, { headers: { Accept: 'application/json' } });
    // The code that takes a response handles its failure; an unused one is ignored.
    answer.catch(() => undefined);
    return [url, answer];
  }),
);
