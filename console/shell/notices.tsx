import { liveState } from '../client/live.ts';
import { signedIn } from '../client/session-state.ts';
import { Icon } from '../parts/icon.tsx';
import { PAGES } from '../routes.ts';

/** What is shown may be old, and at night that matters. */
export function ConnectionNotice() {
  if (liveState.value !== 'away') return null;
  return (
    <div
      role="alert"
      class="
        sticky top-0 z-20 flex items-center gap-3 border-b border-line bg-down-tint px-4 py-2 text-sm text-down md:px-8
      "
    >
      <Icon name="warning" />
      There is no connection to the service: what you see may be old.
    </div>
  );
}

/** Who was handed a password should not keep it. */
export function PasswordNotice() {
  if (signedIn().user.password_changed_at !== null || PAGES.settingsSection === undefined) return null;
  return (
    <div
      class="
      flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-degraded-tint px-4 py-2 text-sm text-degraded
      md:px-8
    "
    >
      <Icon name="key" class="size-4" />
      <span>Your password is the one that was handed out.</span>
      <a class="font-medium underline underline-offset-2" href="/settings/account">
        Choose your own
      </a>
    </div>
  );
}
