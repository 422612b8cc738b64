import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { sentenceOf } from './client/answer.ts';
import { forgetEarlyAnswers } from './client/api.ts';
import { prefixLinks } from './client/base-path.ts';
import { askEarly, startLive } from './client/live.ts';
import { session } from './client/session-state.ts';
import { loadSession } from './client/session.ts';
import { Button } from './parts/button.tsx';
import { PageSkeleton } from './parts/load.tsx';
import { Empty, Page } from './parts/page.tsx';
import { PATHS } from './paths.ts';
import { OPEN_PAGES, PAGES, type Page as PageLoader } from './routes.ts';
import { listenToKeys } from './shell/keys.tsx';
import { Layout } from './shell/layout.tsx';
import { PageOutlet, preload } from './shell/page-outlet.tsx';
import { followLinks, navigate, route } from './shell/router.ts';
import { applyTheme } from './shell/theme.ts';

/** Interval of requests while the service does not respond, in milliseconds. */
const AWAY_POLL_MS = 10_000;

const root = document.querySelector('#app');
if (root === null) throw new Error('The page has no element for the console');

prefixLinks();
followLinks();
listenToKeys();
// The requested page and its data load while the session does.
const wanted = route.value.page === null ? undefined : PAGES[route.value.page];
if (wanted !== undefined) {
  preload(wanted);
  askEarly();
}
// A wallboard's link needs no session; without its token the user's session reads it, in their zone and by their clock.
const isWall = route.value.page === 'wall';
const isSignedInWall = isWall && window.location.hash === '';
// A wall recovers by itself after an outage, and does not wait for the session.
if (isSignedInWall) void loadSession().catch(() => undefined);
const known = isWall ? null : loadSession();
if (route.value.page === null || OPEN_PAGES[route.value.page] === undefined) render(<EmptyFrame />, root);
forgetEarlyAnswers();
try {
  await known;
  render(<App />, root);
} catch (error) {
  render(<ServiceAway error={error} />, root);
}

/** The frame until the session is known. */
function EmptyFrame() {
  return (
    <div class="late flex h-full">
      <div class="hidden w-52 shrink-0 border-r border-line bg-surface md:block" />
      <div class="min-w-0 flex-1 overflow-hidden">
        <PageSkeleton />
      </div>
    </div>
  );
}

/** The whole console. Without a session it shows the sign-in page, and then the page that was requested. */
function App() {
  const { value } = session;
  const { page } = route.value;
  const open = page === null ? undefined : OPEN_PAGES[page];
  if (page === 'wall' && open !== undefined) return <PageOutlet page={open} />;
  if (value === 'unknown') return null;
  if (value === null || page === 'invitation') return <PageOutlet page={open ?? signInPage()} />;
  const { user, tenant } = value;
  // The key discards all state of one person's pages before another's.
  return <SignedIn key={`${user.id} ${tenant.id}`} userId={user.id} chosenTheme={user.theme} />;
}

function SignedIn({ userId, chosenTheme }: { userId: string; chosenTheme: 'system' | 'light' | 'dark' }) {
  useEffect(() => startLive(), [userId]);
  useEffect(() => applyTheme(chosenTheme), [userId]);
  const { page, query } = route.value;
  useEffect(() => {
    // The wallboard leads to the sign-in page by a link; all other pages show it themselves.
    if (page === 'signIn') navigate(query['to'] === 'wall' ? PATHS.wall : '/', { replace: true });
  }, [page]);
  const shown = page === null ? undefined : PAGES[page];
  return <Layout>{shown === undefined ? <NotFound /> : <PageOutlet page={shown} />}</Layout>;
}

function NotFound() {
  return (
    <Page title="Page not found">
      <Empty
        icon="search"
        title="Check the address"
        action={
          <a class="font-medium text-accent underline" href="/">
            All monitors
          </a>
        }
      >
        It may be mistyped, or the page was deleted.
      </Empty>
    </Page>
  );
}

function signInPage(): PageLoader {
  const { signIn } = OPEN_PAGES;
  if (signIn === undefined) throw new Error('There is no page to sign in');
  return signIn;
}

/** An error page while the service does not respond to the first request. It reloads once the service responds. */
function ServiceAway({ error }: { error: unknown }) {
  useEffect(() => {
    const poll = () =>
      loadSession().then(
        () => window.location.reload(),
        () => undefined,
      );
    const timer = setInterval(() => void poll(), AWAY_POLL_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Empty
      icon="warning"
      title="Can’t reach Spotcheck"
      action={
        <Button icon="retry" onClick={() => window.location.reload()}>
          Try again
        </Button>
      }
    >
      {sentenceOf(error)}
    </Empty>
  );
}
