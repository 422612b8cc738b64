import { useRef } from 'preact/hooks';
import { sentenceOf } from '../client/failure.ts';
import { signedIn } from '../client/session-state.ts';
import { signOut } from '../client/session.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { toast } from '../parts/toast.tsx';
import { showKeys } from './keys.tsx';
import { openPalette } from './palette.tsx';
import { askToLeave } from './router.ts';
import { chooseTheme, theme, type Theme } from './theme.ts';

const THEMES: readonly { value: Theme; label: string; icon: IconName }[] = [
  { value: 'system', label: 'System', icon: 'system' },
  { value: 'light', label: 'Light', icon: 'light' },
  { value: 'dark', label: 'Dark', icon: 'dark' },
];

const ITEM = 'flex w-full items-center gap-2.5 rounded-md px-2.5 py-2 text-left text-sm hover:bg-hover';

/** The menu of the signed-in user: theme, keyboard shortcuts and sign-out. */
export function AccountMenu({ id }: { id: string }) {
  const box = useRef<HTMLDivElement>(null);
  const { user, tenant } = signedIn();
  const showError = (error: unknown) => toast(sentenceOf(error), 'bad');
  const leave = async () => {
    if (await askToLeave()) await signOut().catch(showError);
  };
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
      <button type="button" class={ITEM} onClick={() => void leave()}>
        <Icon name="leave" class="size-4 text-soft" />
        Sign out
      </button>
    </div>
  );
}
