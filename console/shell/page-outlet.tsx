import { signal, useSignal } from '@preact/signals';
import { Component, type ComponentChildren, type ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Failure } from '../client/answer.ts';
import { request } from '../client/api.ts';
import { liveState } from '../client/live-stream.ts';
import { Button } from '../parts/button.tsx';
import { FailedLoad, PageSkeleton } from '../parts/load.tsx';
import { Empty } from '../parts/page.tsx';
import type { PageProps } from '../paths.ts';
import type { Page } from '../routes.ts';
import { renewals, route } from './router.ts';

/** Catches errors of a page, so that the rest of the console keeps working. Another `path` resets it. */
class ErrorBoundary extends Component<{ path: string; children: ComponentChildren }, { error: unknown; path: string }> {
  override state = { error: null as unknown, path: this.props.path };

  static override getDerivedStateFromProps(props: { path: string }, state: { error: unknown; path: string }) {
    return props.path === state.path ? null : { error: null, path: props.path };
  }

  override componentDidCatch(error: unknown) {
    this.setState({ error });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Empty
        icon="warning"
        title="Something went wrong on this page"
        action={
          <Button icon="retry" onClick={() => window.location.reload()}>
            Reload page
          </Button>
        }
      >
        Monitoring is not affected. If it happens again, contact your administrator.
      </Empty>
    );
  }
}

const loaded = signal<ReadonlyMap<Page, ComponentType<PageProps>>>(new Map());

/** Loads a page before it is opened. */
export function preload(page: Page): void {
  // Opening the page tries again, and then shows the failure.
  void fetchPage(page).catch(() => undefined);
}

/** Shows the page of the current route, and a skeleton while it loads. */
export function PageOutlet({ page }: { page: Page }) {
  const error = useSignal<unknown>(null);
  const current = useRef(page);
  current.current = page;
  const fetch = async () => {
    error.value = null;
    try {
      await fetchPage(page);
    } catch (failure) {
      // The user may have gone on to another page.
      if (current.current === page) error.value = failure;
    }
  };
  useLayoutEffect(() => {
    if (!loaded.peek().has(page)) void fetch();
  }, [page]);
  const { value: connection } = liveState;
  useEffect(() => {
    // A short outage ends with the next stream, perhaps without ever having been reported as one.
    if ((connection === 'live' || connection === 'polling') && error.peek() !== null) void fetch();
  }, [connection]);
  const { path, params, query } = route.value;
  // A loaded page is rendered at once, so that going back restores it; others are rendered when they arrive.
  const Shown = loaded.value.get(page);
  if (Shown !== undefined) {
    return (
      <ErrorBoundary key={renewals.value} path={path}>
        <Shown key={path} params={params} query={query} />
      </ErrorBoundary>
    );
  }
  if (error.value === null) return <PageSkeleton />;
  // Another release has other files: only a reload finds them.
  if (error.value instanceof OldRelease) return <NewRelease />;
  return <FailedLoad error={error.value} onRetry={() => void fetch()} />;
}

/** The error of a missing file of the console although the server responds. */
class OldRelease extends Failure {
  constructor() {
    super('Spotcheck was updated. Reload the page', { status: 404 });
  }
}

function NewRelease() {
  return (
    <Empty
      icon="retry"
      title="Spotcheck was updated"
      action={<Button onClick={() => window.location.reload()}>Reload page</Button>}
    >
      Reload to use the new version.
    </Empty>
  );
}

async function fetchPage(page: Page): Promise<void> {
  if (loaded.peek().has(page)) return;
  const part = await fetchPart(page);
  loaded.value = new Map([...loaded.peek(), [page, part]]);
}

/** Loads a part of the console from its own file, with one retry; rejects with a `Failure`. */
export async function fetchPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load().catch(load);
  } catch {
    // The browser does not report the reason, so another request shows whether the server responds at all.
    await request('GET', '/session', { answersOwn401: true }).catch((failure: unknown) => {
      if (!(failure instanceof Failure) || failure.status === 0) throw failure;
    });
    throw new OldRelease();
  }
}
