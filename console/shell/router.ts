import { computed, signal } from '@preact/signals';
import { PATHS, type PageName } from '../paths.ts';

/** Where one is: the page that the address belongs to (null = none), what stood for its `:names`, and the query. */
export type Route = {
  path: string;
  page: PageName | null;
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
};

const address = signal(window.location.pathname + window.location.search);

/** Where one is now. */
export const route = computed<Route>(() => {
  const url = new URL(address.value, window.location.origin);
  const path = url.pathname.length > 1 ? url.pathname.replace(/\/+$/, '') : url.pathname;
  const { page, params } = findPage(path);
  return { path, page, params, query: Object.fromEntries(url.searchParams) };
});

/** Whether one came here by the browser's back or forward: then the page is to be as it was left. */
export const cameBack = signal(false);

/** The question before another page is shown; null = none. */
const keeper = signal<(() => Promise<boolean>) | null>(null);

/** Sets a question before another page is shown, until the answer is yes or what comes back is called. */
export function askBeforeLeaving(mayLeave: () => Promise<boolean>): () => void {
  const own = async () => {
    const isFree = await mayLeave();
    if (isFree && keeper.value === own) keeper.value = null;
    return isFree;
  };
  keeper.value = own;
  return () => {
    if (keeper.value === own) keeper.value = null;
  };
}

/** Goes to a page of the console; with `replace` the way back leads past where one is. */
export function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (to === window.location.pathname + window.location.search) return;
  if (keeper.value !== null && new URL(to, window.location.origin).pathname !== route.value.path) {
    void keeper.value().then((isFree) => isFree && navigate(to, { replace }));
    return;
  }
  window.history[replace ? 'replaceState' : 'pushState'](null, '', to);
  cameBack.value = false;
  address.value = to;
}

/**
 * Changes the query of the page one is on, without a step in the history unless that is wanted; empty values are left
 * out.
 */
export function setQuery(
  change: Readonly<Record<string, string>>,
  { isStep = false }: { isStep?: boolean } = {},
): void {
  const query = new URLSearchParams(
    Object.entries({ ...route.value.query, ...change }).filter(([, value]) => value !== ''),
  );
  const text = query.toString();
  navigate(route.value.path + (text === '' ? '' : `?${text}`), { replace: !isStep });
}

/** Lets links to pages of the console lead there without loading anew; all others are the browser's. */
export function followLinks(): void {
  window.history.scrollRestoration = 'manual';
  window.addEventListener('popstate', () => {
    if (keeper.value !== null && window.location.pathname !== route.value.path) {
      // The browser has gone already: it is called back until there is an answer.
      window.history.pushState(null, '', address.value);
      void keeper.value().then((isFree) => isFree && window.history.back());
      return;
    }
    cameBack.value = true;
    address.value = window.location.pathname + window.location.search;
  });
  window.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.shiftKey
    )
      return;
    const link = event.composedPath().find((target) => target instanceof HTMLAnchorElement);
    if (
      link === undefined ||
      link.origin !== window.location.origin ||
      link.hash !== '' ||
      link.hasAttribute('download') ||
      !['', '_self'].includes(link.target)
    )
      return;
    if (findPage(link.pathname).page === null) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

/** The first page, by the order of the table, that an address belongs to: `/monitors/new` is no monitor. */
function findPage(path: string): { page: PageName | null; params: Record<string, string> } {
  const segments = path.split('/');
  for (const page of Object.keys(PATHS) as PageName[]) {
    const pattern = PATHS[page].split('/');
    if (pattern.length !== segments.length) continue;
    const params: Record<string, string> = {};
    const isMatch = pattern.every((part, index) => {
      const segment = segments[index] ?? '';
      if (!part.startsWith(':')) return part === segment;
      params[part.slice(1)] = decode(segment);
      return segment !== '';
    });
    if (isMatch) return { page, params };
  }
  return { page: null, params: {} };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
