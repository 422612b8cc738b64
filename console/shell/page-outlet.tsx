import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { PageProps } from '../page-props.ts';
import { FailedLoad, Placeholder } from '../parts/load.tsx';
import type { Page } from '../routes.ts';
import { Fault } from './fault.tsx';
import { route } from './router.ts';

const loaded = new Map<Page, ComponentType<PageProps>>();

/** Loads a page before it is opened. */
export function preload(page: Page): void {
  // Where it fails, going there tries again and says so.
  void fetchPage(page).catch(() => undefined);
}

/** Shows the page of the current route; one that is on its way keeps its place free. */
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
  // What has arrived before is there at once, so that coming back finds it as it was left; anything else is drawn once
  // it arrives.
  const isHere = arrived.value === page || loaded.has(page);
  const Shown = isHere ? loaded.get(page) : undefined;
  if (Shown !== undefined) {
    return (
      <Fault path={path}>
        <Shown key={path} params={params} query={query} />
      </Fault>
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
