import { useEffect } from 'preact/hooks';
import { startLive } from './client/live.ts';
import { session } from './client/session-state.ts';
import { Empty } from './parts/empty.tsx';
import { Page } from './parts/page.tsx';
import { OPEN_PAGES, PAGES, type Page as PageLoader } from './routes.ts';
import { Layout } from './shell/layout.tsx';
import { PageOutlet } from './shell/page-outlet.tsx';
import { navigate, route } from './shell/router.ts';
import { applyTheme } from './shell/theme.ts';

/**
 * Everything: who is not signed in sees the pages for that, wherever they wanted to go, and goes on from there
 * afterwards.
 */
export function App() {
  const { value } = session;
  if (value === 'unknown') return null;
  const { page } = route.value;
  const open = page === null ? undefined : OPEN_PAGES[page];
  if (value === null || page === 'invitation') return <PageOutlet page={open ?? signInPage()} />;
  return <SignedIn userId={value.user.id} chosenTheme={value.user.theme} />;
}

function SignedIn({ userId, chosenTheme }: { userId: string; chosenTheme: 'system' | 'light' | 'dark' }) {
  useEffect(() => startLive(), [userId]);
  useEffect(() => applyTheme(chosenTheme), [userId]);
  const { page } = route.value;
  useEffect(() => {
    if (page === 'signIn') navigate('/', { replace: true });
  }, [page]);
  const shown = page === null ? undefined : PAGES[page];
  return <Layout>{shown === undefined ? <NotFound /> : <PageOutlet page={shown} />}</Layout>;
}

function NotFound() {
  return (
    <Page title="Nothing here">
      <Empty
        icon="search"
        title="There is no such page"
        action={
          <a class="font-medium text-accent underline" href="/">
            All monitors
          </a>
        }
      >
        The address may be mistyped, or what it led to was deleted.
      </Empty>
    </Page>
  );
}

function signInPage(): PageLoader {
  const { signIn } = OPEN_PAGES;
  if (signIn === undefined) throw new Error('There is no page to sign in');
  return signIn;
}
