import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { liveState } from '../client/live.ts';
import { signedIn } from '../client/session-state.ts';
import { Questions } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { Toasts } from '../parts/toast.tsx';
import { Tooltip } from '../parts/tooltip.tsx';
import { PATHS } from '../paths.ts';
import { PAGES } from '../routes.ts';
import { AccountMenu } from './account-menu.tsx';
import { CommonKeys } from './keys.tsx';
import { Mark } from './mark.tsx';
import { listNavigation, type NavigationItem } from './navigation.ts';
import { cameBack, place } from './router.ts';

/** On a phone the navigation has room for so many places; the rest is one tap further. */
const PHONE_PLACES = 4;

/** The frame around every page of who is signed in: navigation beside it, or below it on a phone. */
export function Layout({ children }: { children: ComponentChildren }) {
  const items = listNavigation();
  const { page, path } = place.value;
  const main = useMainFocus(path);
  return (
    <div class="flex h-full flex-col md:flex-row">
      <a href="#main" class="sr-only z-50 rounded-md bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:left-3 focus:top-3" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>
        Skip to the page
      </a>
      <SideNavigation items={items} isAt={(item) => page !== null && item.pages.includes(page)} />
      <main ref={main} id="main" tabIndex={-1} class="relative min-h-0 min-w-0 flex-1 overflow-y-auto overscroll-contain outline-none [scrollbar-gutter:stable]">
        <ConnectionNotice />
        <PasswordNotice />
        {children}
      </main>
      <PhoneNavigation items={items} isAt={(item) => page !== null && item.pages.includes(page)} />
      <AccountMenu id="account" />
      <CommonKeys places={items} />
      <Questions />
      <Tooltip />
      <Toasts />
    </div>
  );
}

type NavigationProps = { items: readonly NavigationItem[]; isAt: (item: NavigationItem) => boolean };

function SideNavigation({ items, isAt }: NavigationProps) {
  const { user } = signedIn();
  return (
    <nav aria-label="Main" class="hidden w-52 shrink-0 flex-col border-r border-line bg-surface px-2.5 py-4 md:flex print:hidden">
      <a href={PATHS.overview} class="mb-5 flex items-center gap-2 rounded-md px-2 text-ink">
        <Mark />
        <span class="heading text-[1.0625rem]">Spotcheck</span>
      </a>
      <ul class="flex flex-1 flex-col gap-0.5 overflow-y-auto">
        {items.map((item) => (
          <li key={item.page}>
            <a
              href={item.href}
              aria-current={isAt(item) ? 'page' : undefined}
              class={`flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm ${isAt(item) ? 'bg-accent-tint font-medium text-accent' : 'text-soft hover:bg-hover hover:text-ink'}`}
            >
              <Icon name={item.icon} class="size-[1.125rem]" />
              {item.label}
            </a>
          </li>
        ))}
      </ul>
      <LiveSign />
      <button type="button" popovertarget="account" class="account-button mt-1.5 flex items-center gap-2 rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover">
        <Initial name={user.name === '' ? user.email : user.name} />
        <span class="clipped min-w-0 flex-1">{user.name === '' ? user.email : user.name}</span>
        <Icon name="more" class="size-4 text-soft" />
      </button>
    </nav>
  );
}

function PhoneNavigation({ items, isAt }: NavigationProps) {
  const shown = items.slice(0, PHONE_PLACES);
  const hidden = items.slice(PHONE_PLACES);
  const look = (isCurrent: boolean) => `flex h-14 w-full flex-col items-center justify-center gap-0.5 text-2xs ${isCurrent ? 'font-medium text-accent' : 'text-soft'}`;
  return (
    <nav aria-label="Main" class="shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden print:hidden">
      <ul class="flex">
        {shown.map((item) => (
          <li key={item.page} class="flex-1">
            <a href={item.href} aria-current={isAt(item) ? 'page' : undefined} class={look(isAt(item))}>
              <Icon name={item.icon} class="size-5" />
              {item.label}
            </a>
          </li>
        ))}
        {hidden.length > 0 && (
          <li class="flex-1">
            <button type="button" popovertarget="more-places" class={look(hidden.some(isAt))}>
              <Icon name="more" class="size-5" />
              More
            </button>
            <div id="more-places" popover="auto" class="phone-menu m-0 w-52 rounded-xl border border-line bg-raised p-1.5 text-ink shadow-xl">
              {hidden.map((item) => (
                <a key={item.page} href={item.href} aria-current={isAt(item) ? 'page' : undefined} class="flex items-center gap-2.5 rounded-md px-2.5 py-2.5 text-sm" onClick={(event) => event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()}>
                  <Icon name={item.icon} class="size-[1.125rem] text-soft" />
                  {item.label}
                </a>
              ))}
            </div>
          </li>
        )}
        <li class="flex-1">
          <button type="button" popovertarget="account" class={look(false)}>
            <Icon name="person" class="size-5" />
            Account
          </button>
        </li>
      </ul>
    </nav>
  );
}

const LIVE_TEXTS = {
  connecting: { dot: 'bg-pending-fill', text: 'Connecting' },
  live: { dot: 'bg-up-fill', text: 'Live' },
  polling: { dot: 'bg-pending-fill', text: 'Every 10 s' },
  away: { dot: 'bg-down-fill', text: 'No connection' },
} as const;

/** Whether what is shown is what is. */
function LiveSign() {
  const { dot, text } = LIVE_TEXTS[liveState.value];
  return (
    <div class="flex items-center gap-2 px-2 text-xs text-soft" role="status">
      <span class={`size-2 rounded-full ${dot}`} />
      {text}
    </div>
  );
}

/** What is shown may be old, and at night that matters. */
function ConnectionNotice() {
  if (liveState.value !== 'away') return null;
  return (
    <div role="alert" class="sticky top-0 z-20 flex items-center gap-3 border-b border-line bg-down-tint px-4 py-2 text-sm text-down md:px-8">
      <Icon name="warning" />
      There is no connection to the service: what you see may be old.
    </div>
  );
}

/** Who was handed a password should not keep it. */
function PasswordNotice() {
  if (signedIn().user.password_changed_at !== null || PAGES.settingsSection === undefined) return null;
  return (
    <div class="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-degraded-tint px-4 py-2 text-sm text-degraded md:px-8">
      <Icon name="key" class="size-4" />
      <span>Your password is the one that was handed out.</span>
      <a class="font-medium underline underline-offset-2" href="/settings/account">
        Choose your own
      </a>
    </div>
  );
}

function Initial({ name }: { name: string }) {
  return (
    <span class="grid size-6 shrink-0 place-items-center rounded-full bg-accent-tint text-xs font-semibold uppercase text-accent" aria-hidden="true">
      {name.charAt(0)}
    </span>
  );
}

/** How far each page was scrolled when it was left. */
const positions = new Map<string, number>();

/** After going elsewhere the page begins at its top, and the keyboard with it; coming back it is where it was left. */
function useMainFocus(path: string) {
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    const { current } = main;
    if (current === null) return;
    if (!isFirst.current) {
      current.scrollTo(0, cameBack.peek() ? (positions.get(path) ?? 0) : 0);
      if (!current.contains(document.activeElement)) current.focus({ preventScroll: true });
    }
    isFirst.current = false;
    const remember = () => positions.set(path, current.scrollTop);
    current.addEventListener('scroll', remember, { passive: true });
    return () => current.removeEventListener('scroll', remember);
  }, [path]);
  return main;
}
