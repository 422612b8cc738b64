import { signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { sentenceOf } from '../client/answer.ts';
import { liveState } from '../client/live-stream.ts';
import { updatedAtMs } from '../client/live.ts';
import { signedIn } from '../client/session-state.ts';
import { Toasts, toast } from '../parts/action.tsx';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { formatTime } from '../parts/time.tsx';
import { Tooltip } from '../parts/tooltip.tsx';
import { PAGES } from '../routes.ts';
import { CommonKeys, showKeys, useShortcut } from './keys.tsx';
import { PhoneNavigation, SideNavigation, listNavigation, type NavigationItem } from './navigation-bars.tsx';
import { fetchPart } from './page-outlet.tsx';
import { cameBack, leave, renewals, route } from './router.ts';
import { chooseTheme, theme, type Theme } from './theme.ts';

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
        {/* Above the scroll bar, and always visible. */}
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

/** Scroll position of each page when it was left. */
const positions = new Map<string, number>();

/** Scrolls a new page to its top and focuses it; restores the scroll position after going back. */
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
  }, [path, renewals.value]);
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

/** A reminder to change a password that someone else knows: the first one, or one of `user reset`. */
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
      <span>You’re using a password that was set for you.</span>
      <a class="font-medium underline underline-offset-2" href="/settings/account">
        Change it
      </a>
    </aside>
  );
}

const THEMES: readonly { value: Theme; label: string; icon: IconName }[] = [
  { value: 'system', label: 'System', icon: 'system' },
  { value: 'light', label: 'Light', icon: 'light' },
  { value: 'dark', label: 'Dark', icon: 'dark' },
];

const ITEM = 'flex w-full items-center gap-2.5 rounded-md px-2.5 py-2 text-left text-sm hover:bg-hover';

/** The menu of the signed-in user: theme, keyboard shortcuts and sign-out. */
function AccountMenu({ id }: { id: string }) {
  const box = useRef<HTMLDivElement>(null);
  const { user, tenant } = signedIn();
  const showError = (error: unknown) => toast(sentenceOf(error), 'bad');
  return (
    <div
      ref={box}
      id={id}
      popover="auto"
      class="account-menu m-0 w-64 rounded-xl border border-line bg-raised p-1.5 text-ink shadow-xl"
    >
      <div class="px-2.5 pb-2 pt-1.5">
        <div class="clipped text-sm font-medium">{user.name === '' ? user.email : user.name}</div>
        <div class="clipped text-xs text-soft">{user.name === '' ? tenant.name : `${user.email} · ${tenant.name}`}</div>
      </div>
      <div class="mb-1 grid grid-cols-3 gap-1 rounded-lg bg-sunken p-1" role="radiogroup" aria-label="Theme">
        {THEMES.map(({ value, label, icon }) => (
          <button
            key={value}
            type="button"
            role="radio"
            aria-checked={theme.value === value}
            onClick={() => void chooseTheme(value).catch(showError)}
            class={
              'flex items-center justify-center gap-1.5 rounded-md py-1.5 text-xs ' +
              `${theme.value === value ? 'bg-surface font-medium shadow-sm' : 'text-soft hover:text-ink'}`
            }
          >
            <Icon name={icon} />
            {label}
          </button>
        ))}
      </div>
      {user.is_operator && (
        <a class={ITEM} href="/queues">
          <Icon name="queues" class="size-4 text-soft" />
          Queues
        </a>
      )}
      <button
        type="button"
        class={`${ITEM} hidden md:flex`}
        onClick={() => {
          box.current?.hidePopover();
          showKeys();
        }}
      >
        <Icon name="keyboard" class="size-4 text-soft" />
        Keyboard shortcuts
      </button>
      <button
        type="button"
        class={ITEM}
        onClick={() => {
          box.current?.hidePopover();
          openPalette();
        }}
      >
        <Icon name="search" class="size-4 text-soft" />
        Command palette
      </button>
      <button
        type="button"
        class={ITEM}
        onClick={() => {
          // Returns the focus to the button of the menu, which keeps it if the user stays.
          box.current?.hidePopover();
          void leave().catch(showError);
        }}
      >
        <Icon name="leave" class="size-4 text-soft" />
        Sign out
      </button>
    </div>
  );
}

const isOpen = signal(false);

/** The dialog, which is loaded when it is first opened; null until then. */
const dialog = signal<ComponentType<{ onClose: () => void }> | null>(null);

/** The command palette, which Ctrl-K or Cmd-K opens on every page, also from within a field. */
function CommandPalette() {
  useShortcut('Ctrl+K', 'Command palette', openPalette);
  const close = () => void (isOpen.value = false);
  useLayoutEffect(() => close, [route.value.path]);
  const { value: Shown } = dialog;
  return isOpen.value && Shown !== null ? <Shown onClose={close} /> : null;
}

/** Opens the command palette. */
function openPalette(): void {
  isOpen.value = true;
  if (dialog.peek() !== null) return;
  fetchPart(() => import('./palette-dialog.tsx')).then(
    ({ PaletteDialog }) => (dialog.value = PaletteDialog),
    (failure: unknown) => {
      isOpen.value = false;
      toast(sentenceOf(failure), 'bad');
    },
  );
}
