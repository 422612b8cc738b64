import { liveState } from '../client/live-stream.ts';
import { updatedAtMs } from '../client/live.ts';
import { signedIn } from '../client/session-state.ts';
import { Icon, Logo, type IconName } from '../parts/icon.tsx';
import { formatTime } from '../parts/time.tsx';
import { PATHS, type PageName } from '../paths.ts';
import { PAGES } from '../routes.ts';

/** Number of pages in the navigation on a phone; the others are in a menu. */
const PHONE_ITEMS = 4;

type NavigationProps = { items: readonly NavigationItem[]; isAt: (item: NavigationItem) => boolean };

/** The navigation at the side, on wide screens. */
export function SideNavigation({ items, isAt }: NavigationProps) {
  const { user } = signedIn();
  return (
    <nav
      aria-label="Main"
      class="hidden w-52 shrink-0 flex-col border-r border-line bg-surface px-2.5 py-4 md:flex print:hidden"
    >
      <a href={PATHS.overview} class="mb-5 flex items-center gap-2 rounded-md px-2 text-ink">
        <Logo />
        <span class="heading text-[1.0625rem]">Spotcheck</span>
      </a>
      <ul class="flex flex-1 flex-col gap-0.5 overflow-y-auto">
        {items.map((item) => (
          <li key={item.page}>
            <a
              href={item.href}
              aria-current={isAt(item) ? 'page' : undefined}
              class={
                'flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm ' +
                `${isAt(item) ? 'bg-accent-tint font-medium text-accent' : 'text-soft hover:bg-hover hover:text-ink'}`
              }
            >
              <Icon name={item.icon} class="size-[1.125rem]" />
              {item.label}
            </a>
          </li>
        ))}
      </ul>
      <LiveSign />
      <button
        type="button"
        popovertarget="account"
        class="account-button mt-1.5 flex items-center gap-2 rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover"
      >
        <Initial name={user.name === '' ? user.email : user.name} />
        <span class="clipped min-w-0 flex-1">{user.name === '' ? user.email : user.name}</span>
        <Icon name="more" class="size-4 text-soft" />
      </button>
    </nav>
  );
}

/** The navigation at the bottom, on phones. */
export function PhoneNavigation({ items, isAt }: NavigationProps) {
  const shown = items.slice(0, PHONE_ITEMS);
  const hidden = items.slice(PHONE_ITEMS);
  const linkClass = (isCurrent: boolean) =>
    'flex h-14 w-full flex-col items-center justify-center gap-0.5 text-2xs ' +
    `${isCurrent ? 'font-medium text-accent' : 'text-soft'}`;
  return (
    <nav
      aria-label="Main"
      class="shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden print:hidden"
    >
      <ul class="flex flex-wrap gap-x-1">
        {shown.map((item) => (
          <li key={item.page} class="flex-1">
            <a href={item.href} aria-current={isAt(item) ? 'page' : undefined} class={linkClass(isAt(item))}>
              <Icon name={item.icon} class="size-5" />
              {item.label}
            </a>
          </li>
        ))}
        {hidden.length > 0 && (
          <li class="flex-1">
            <button type="button" popovertarget="more-pages" class={linkClass(hidden.some(isAt))}>
              <Icon name="more" class="size-5" />
              More
            </button>
            <div
              id="more-pages"
              popover="auto"
              class="phone-menu m-0 w-52 rounded-xl border border-line bg-raised p-1.5 text-ink shadow-xl"
            >
              {hidden.map((item) => (
                <a
                  key={item.page}
                  href={item.href}
                  aria-current={isAt(item) ? 'page' : undefined}
                  class="flex items-center gap-2.5 rounded-md px-2.5 py-2.5 text-sm"
                  onClick={(event) => event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()}
                >
                  <Icon name={item.icon} class="size-[1.125rem] text-soft" />
                  {item.label}
                </a>
              ))}
            </div>
          </li>
        )}
        <li class="flex-1">
          <button type="button" popovertarget="account" class={linkClass(false)}>
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
  polling: { dot: 'bg-pending-fill', text: 'Polling' },
  away: { dot: 'bg-down-fill', text: 'No connection' },
} as const;

/** The state of the connection. */
function LiveSign() {
  const { dot, text } = LIVE_TEXTS[liveState.value];
  return (
    <div class="flex flex-wrap items-center gap-x-2 whitespace-nowrap px-2 text-xs text-soft">
      <span class={`size-2 rounded-full ${dot}`} />
      <span role="status">{text}</span>
      {updatedAtMs.value !== null && liveState.value !== 'connecting' && (
        <span class="ml-auto text-2xs tabular-nums">Updated {formatTime(updatedAtMs.value)}</span>
      )}
    </div>
  );
}

function Initial({ name }: { name: string }) {
  return (
    <span
      class="
        grid size-6 shrink-0 place-items-center rounded-full bg-accent-tint text-xs font-semibold uppercase text-accent
      "
      aria-hidden="true"
    >
      {name.charAt(0)}
    </span>
  );
}

/** An entry of the navigation: `letter` is its shortcut after `g`; it is highlighted on all of `pages`. */
export type NavigationItem = {
  page: PageName;
  label: string;
  icon: IconName;
  letter: string;
  href: string;
  pages: readonly PageName[];
  forOperators?: boolean;
};

const ITEMS: readonly Omit<NavigationItem, 'href'>[] = [
  {
    page: 'overview',
    label: 'Monitors',
    icon: 'monitors',
    letter: 'o',
    pages: ['overview', 'monitors', 'monitor', 'monitorNew', 'monitorEdit'],
  },
  { page: 'incidents', label: 'Incidents', icon: 'incidents', letter: 'i', pages: ['incidents', 'incident'] },
  { page: 'channels', label: 'Channels', icon: 'channels', letter: 'c', pages: ['channels', 'channel', 'channelNew'] },
  { page: 'agents', label: 'Agents', icon: 'agents', letter: 'a', pages: ['agents', 'agent', 'agentNew'] },
  {
    page: 'maintenance',
    label: 'Maintenance',
    icon: 'maintenance',
    letter: 'm',
    pages: ['maintenance', 'maintenanceNew', 'maintenanceWindow', 'maintenanceEdit'],
  },
  { page: 'reports', label: 'Reports', icon: 'reports', letter: 'r', pages: ['reports', 'report'] },
  { page: 'settings', label: 'Settings', icon: 'settings', letter: 's', pages: ['settings', 'settingsSection'] },
  { page: 'docs', label: 'API', icon: 'docs', letter: 'd', pages: ['docs'] },
  { page: 'fleet', label: 'System', icon: 'fleet', letter: 'f', pages: ['fleet'], forOperators: true },
];

/** Returns the entries that the user may open. */
export function listNavigation(): NavigationItem[] {
  const { is_operator: isOperator } = signedIn().user;
  return ITEMS.filter(
    ({ page, forOperators = false }) => PAGES[page] !== undefined && (isOperator || !forOperators),
  ).map((item) => ({ ...item, href: PATHS[item.page] }));
}
