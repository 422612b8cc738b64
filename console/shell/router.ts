import { computed, effect, signal } from '@preact/signals';
import { BASE_PATH, withoutBase } from '../client/base-path.ts';
import { signOut } from '../client/session.ts';
import { PATHS, type PageName } from '../paths.ts';

/** The current page (null = unknown), the values of its `:names`, and the query. */
type Route = {
  path: string;
  page: PageName | null;
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
};

const address = signal(currentAddress());

/** Returns the address in the browser's address bar, below the base path. */
function currentAddress(): string {
  return (withoutBase(window.location.pathname) ?? '/') + window.location.search;
}

/** The current route. */
export const route = computed<Route>(() => {
  const url = new URL(address.value, window.location.origin);
  const path = url.pathname.length > 1 ? url.pathname.replace(/\/+$/, '') : url.pathname;
  const { page, params } = findPage(path);
  return { path, page, params, query: Object.fromEntries(url.searchParams) };
});

const visit = { path: '', number: 0 };
effect(() => {
  const { path } = route.value;
  if (path !== visit.path) visit.number += 1;
  visit.path = path;
});

/** Returns the number of the current visit; another path, or the same page opened anew, begins the next one. */
export function currentVisit(): number {
  return visit.number;
}

/** How often a page was opened anew while it was shown; each time it starts without its previous state. */
export const renewals = signal(0);

/** Whether the browser's back or forward button led here; then the page restores its scroll position. */
export const cameBack = signal(false);

/** A guard of input that would be lost by leaving a part of a page. */
export type LeaveGuard = {
  /** Reports whether nothing would be lost, at the moment of leaving. */
  isFree: () => boolean;
  /** Asks for confirmation; true = leave. Guards with the same function ask once together. */
  ask: () => Promise<boolean>;
  /** Query parameter that shows another part of the page; without it only another page counts as leaving. */
  query?: string | undefined;
};

const guards = new Set<LeaveGuard>();

/** Sets a confirmation before leaving, until the returned function is called. */
export function guardLeaving(guard: LeaveGuard): () => void {
  guards.add(guard);
  return () => void guards.delete(guard);
}

/** Returns the guards that block an address (null: any) as input would be lost, without those that were `agreed` to. */
function blocking(to: string | null, agreed: readonly LeaveGuard[] = []): LeaveGuard[] {
  const { path, query } = route.value;
  const url = to === null ? null : new URL(to, window.location.origin);
  const isLeft = ({ query: name }: LeaveGuard) =>
    url?.pathname !== path || (name !== undefined && (url.searchParams.get(name) ?? '') !== (query[name] ?? ''));
  return [...guards].filter((guard) => isLeft(guard) && !guard.isFree() && !agreed.includes(guard));
}

async function isConfirmed(left: readonly LeaveGuard[]): Promise<boolean> {
  for (const ask of new Set(left.map((guard) => guard.ask))) if (!(await ask())) return false;
  return true;
}

/** Signs out, unless there is unsaved input that the user wants to keep; after a failed attempt it stays guarded. */
export async function leave(): Promise<void> {
  if (await isConfirmed(blocking(null))) await signOut();
}

type Navigation = {
  /** Replaces the history entry. */
  replace?: boolean;
  /** Leaves without a confirmation, as after a deletion. */
  isFree?: boolean;
  /** Opens the page anew even if it is the one that is shown, as after something was created on it. */
  isNew?: boolean;
  /** Guards that the user has already agreed to leave. */
  agreed?: readonly LeaveGuard[];
  /**
   * Navigates only during this visit (`currentVisit`): a user who has left during a request stays on the other page.
   */
  from?: number;
};

/** Goes to a page of the console. */
export function navigate(to: string, options: Navigation = {}): void {
  const { replace = false, isFree = false, isNew = false, agreed = [], from } = options;
  const isShown = to === currentAddress();
  const isRenewed = isNew && new URL(to, window.location.origin).pathname === route.value.path;
  if ((isShown && !isRenewed) || (from ?? currentVisit()) !== currentVisit()) return;
  const left = isFree ? [] : blocking(isRenewed ? null : to, agreed);
  if (left.length > 0) {
    void isConfirmed(left).then((mayGo) => mayGo && navigate(to, { replace, isNew, agreed: [...agreed, ...left] }));
    return;
  }
  if (replace || isShown) window.history.replaceState(window.history.state, '', BASE_PATH + to);
  else push(to, currentAddress());
  cameBack.value = false;
  if (isRenewed) {
    visit.number += 1;
    renewals.value += 1;
  }
  address.value = to;
}

/** What a history entry remembers: the last address of another page, and how many entries back that is. */
type Trail = { before: string; steps: number };

function currentTrail(): Trail {
  return { before: '', steps: 1, ...(window.history.state as Trail | null) };
}

/** Adds a history entry; `before` is the address of the one before it. */
function push(to: string, before: string): void {
  const trail = currentTrail();
  const isSamePage = pathOf(before) === pathOf(to);
  const state: Trail = isSamePage ? { ...trail, steps: trail.steps + 1 } : { before, steps: 1 };
  window.history.pushState(state, '', BASE_PATH + to);
}

function pathOf(to: string): string {
  return to.split('?')[0] ?? '';
}

/** Leaves a saved or cancelled form for a page: goes back if the form was opened there, else replaces the form. */
export function leaveForm(to: string, from: number): void {
  if (from !== currentVisit()) return;
  const { before, steps } = currentTrail();
  if (pathOf(before) === to) window.history.go(-steps);
  else navigate(to, { replace: true });
}

/** Paths of objects that were deleted here, with the list that Back and Forward show in place of their pages. */
export const deletedPaths = new Map<string, string>();

/** Leaves the pages of a deleted object for its list: goes back if they were opened there, else replaces them. */
export function leaveDeleted(path: string, list: string, from: number): void {
  deletedPaths.set(path, list);
  if (from !== currentVisit()) return;
  const { before, steps } = currentTrail();
  // The overview is the list of monitors.
  const isBehind = [pathOf(before), pathOf(before) === PATHS.overview && PATHS.monitors].includes(list);
  if (!isBehind && steps === 1) return navigate(list, { replace: true, isFree: true });
  // The list is shown at once: going back takes a moment, in which the page would report that its object is missing.
  cameBack.value = isBehind;
  address.value = isBehind ? before : list;
  window.history.go(isBehind ? -steps : 1 - steps);
}

/** Changes the query of the current page; empty values are removed. It adds a history entry only with `isStep`. */
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

/** Handles clicks on links to pages of the console without a page load; the browser handles all others. */
export function followLinks(): void {
  window.history.scrollRestoration = 'manual';
  // Guards that the user has agreed to leave by the step back that follows.
  let agreed: readonly LeaveGuard[] = [];
  window.addEventListener('popstate', () => {
    const shown = pathOf(currentAddress());
    const list = [...deletedPaths].find(([path]) => `${shown}/`.startsWith(`${path}/`))?.[1];
    if (list !== undefined) window.history.replaceState(window.history.state, '', BASE_PATH + list);
    const earlier = agreed;
    const left = blocking(currentAddress(), earlier);
    agreed = [];
    if (left.length > 0) {
      // The browser has gone back already: this is undone until the user has answered.
      push(address.value, currentAddress());
      void isConfirmed(left).then((mayGo) => {
        agreed = mayGo ? [...earlier, ...left] : [];
        return mayGo && window.history.back();
      });
      return;
    }
    cameBack.value = true;
    address.value = currentAddress();
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
    const path = withoutBase(link.pathname);
    if (path === null || findPage(path).page === null) return;
    event.preventDefault();
    navigate(path + link.search);
  });
}

/** Finds the first page in the table that matches a path: `/monitors/new` comes before `/monitors/:id`. */
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
