import { useSignal } from '@preact/signals';
import { type ComponentType, Component, type ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { FailedLoad, Placeholder } from '../parts/load.tsx';
import type { PageProps } from '../paths.ts';
import type { Page } from '../routes.ts';
import { route } from './router.ts';

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
        title="This page broke"
        action={
          <Button icon="retry" onClick={() => window.location.reload()}>
            Load it anew
          </Button>
        }
      >
        Nothing was lost on the server, and monitoring goes on. If it happens again, contact the operator of this
        service.
      </Empty>
    );
  }
}

const loaded = new Map<Page, ComponentType<PageProps>>();

/** Loads a page before it is opened. */
export function preload(page: Page): void {
  // A failure is shown when the page is opened, which tries again.
  void fetchPage(page).catch(() => undefined);
}

/** Shows the page of the current route, and a placeholder while it loads. */
export function PageOutlet({ page }: { page: Page }) {
  const arrived = useSignal<Page | null>(null);
  const error = useSignal<unknown>(null);
  const fetch = async () => {
    error.value = null;
    try {
      await fetchPage(page);
      arrived.value = page;
    } catch (failure) {
      error.value = failure;
    }
  };
  useLayoutEffect(() => {
    if (!loaded.has(page)) void fetch();
  }, [page]);
  const { path, params, query } = route.value;
  // A loaded page is rendered at once, so that going back restores it; others are rendered when they arrive.
  const isHere = arrived.value === page || loaded.has(page);
  const Shown = isHere ? loaded.get(page) : undefined;
  if (Shown !== undefined) {
    return (
      <ErrorBoundary path={path}>
        <Shown key={path} params={params} query={query} />
      </ErrorBoundary>
    );
  }
  return error.value === null ? (
    <Placeholder class="h-full" />
  ) : (
    <FailedLoad error={error.value} onRetry={() => void fetch()} />
  );
}

async function fetchPage(page: Page): Promise<void> {
  if (!loaded.has(page)) loaded.set(page, await page());
}
