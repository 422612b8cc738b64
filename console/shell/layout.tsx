import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { liveState, updatedAtMs } from '../client/live.ts';
import { signedIn } from '../client/session-state.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { formatTime } from '../parts/time.tsx';
import { Toasts } from '../parts/toast.tsx';
import { Tooltip } from '../parts/tooltip.tsx';
import { PAGES } from '../routes.ts';
import { AccountMenu } from './account-menu.tsx';
import { CommonKeys } from './keys.tsx';
import { PhoneNavigation, SideNavigation, listNavigation, type NavigationItem } from './navigation-bars.tsx';
import { CommandPalette } from './palette.tsx';
import { cameBack, route } from './router.ts';

/** The frame of every page for signed-in users, with navigation at the side, or at the bottom on a phone. */
export function Layout({ children }: { children: ComponentChildren }) {
  const items = listNavigation();
  const { page, path } = route.value;
  const main = useMainFocus(path);
  const isAt = (item: NavigationItem) => page !== null && item.pages.includes(page);
  return (
    <div class="flex h-full flex-col md:flex-row print:block print:h-auto">
      <a
        href="#main"
        class="
          sr-only z-50 rounded-md bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:left-3
          focus:top-3
        "
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      <SideNavigation items={items} isAt={isAt} />
      <div class="flex min-h-0 min-w-0 flex-1 flex-col print:block">
        {/* Above the scroll bar, and always in sight. */}
        <ConnectionNotice />
        <PasswordNotice />
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          class="
            relative min-h-0 min-w-0 flex-1 overflow-y-auto overscroll-contain outline-none [scrollbar-gutter:stable]
            print:overflow-visible
          "
        >
          {children}
        </main>
      </div>
      <PhoneNavigation items={items} isAt={isAt} />
      <AccountMenu id="account" />
      <CommonKeys items={items} />
      <CommandPalette />
      <ConfirmDialog />
      <Tooltip />
      <Toasts />
    </div>
  );
}

/** The scroll position of each page when it was left. */
const positions = new Map<string, number>();

/** Scrolls a new page to its top and focuses it; after going back it restores the scroll position. */
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

/** A warning that the shown data may be old. */
function ConnectionNotice() {
  if (liveState.value !== 'away') return null;
  return (
    <div
      role="alert"
      class="
        flex shrink-0 items-center gap-3 border-b border-line bg-down-tint px-4 py-2 text-sm text-down md:px-8
      "
    >
      <Icon name="warning" />
      <span>
        Can’t reach the server. Data may be out of date
        {updatedAtMs.value !== null && ` (last updated at ${formatTime(updatedAtMs.value)})`}.
      </span>
    </div>
  );
}

/** A reminder to change the initial password. */
function PasswordNotice() {
  const { password_changed_at: changedAt, has_password: hasPassword } = signedIn().user;
  if (changedAt !== null || !hasPassword || PAGES.settingsSection === undefined) return null;
  return (
    <aside
      aria-label="Notice"
      class="
        flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-degraded-tint px-4 py-2 text-sm
        text-degraded md:px-8 print:hidden
      "
    >
      <Icon name="key" class="size-4" />
      <span>You’re using the initial password.</span>
      <a class="font-medium underline underline-offset-2" href="/settings/account">
        Change it
      </a>
    </aside>
  );
}
