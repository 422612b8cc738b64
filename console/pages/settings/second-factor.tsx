import { useSignal } from '@preact/signals';
import { signedIn } from '../../client/session-state.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { NewCodes } from './new-codes.tsx';
import { StartSecondFactor } from './start-second-factor.tsx';
import { StopSecondFactor } from './stop-second-factor.tsx';

const DIALOGS = { start: StartSecondFactor, codes: NewCodes, stop: StopSecondFactor } as const;

/** So few recovery codes are worth a word. */
const FEW_CODES = 3;

/** Whether one has a second factor, and the ways to get, renew and lose it. */
export function SecondFactor() {
  const { totp_enabled: isOn, recovery_codes_left: left } = signedIn().user;
  const shown = useSignal<keyof typeof DIALOGS | null>(null);
  const Shown = shown.value === null ? null : DIALOGS[shown.value];
  return (
    <div class="flex flex-col items-start gap-3 text-sm">
      {isOn ? (
        <>
          <p class="flex flex-wrap items-center gap-2">
            <Badge tone="good">On</Badge>
            <span class={left <= FEW_CODES ? 'text-degraded' : 'text-soft'}>
              {left === 1 ? 'One recovery code is left.' : `${left === 0 ? 'No' : left} recovery codes are left.`}
            </span>
          </p>
          <div class="flex flex-wrap gap-2">
            <Button icon="retry" onClick={() => (shown.value = 'codes')}>
              New recovery codes
            </Button>
            <Button tone="danger" onClick={() => (shown.value = 'stop')}>
              Turn off
            </Button>
          </div>
        </>
      ) : (
        <>
          <p class="text-soft">
            Off. Any app that shows codes will do, such as Aegis, Google Authenticator, 1Password or Bitwarden.
          </p>
          <Button icon="key" onClick={() => (shown.value = 'start')}>
            Turn on
          </Button>
        </>
      )}
      {Shown !== null && <Shown onClose={() => (shown.value = null)} />}
    </div>
  );
}
