import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { signedIn } from '../../client/session-state.ts';
import { loadSession } from '../../client/session.ts';
import { useFormAction, type FormAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Badge } from '../../parts/status.tsx';
import { toast } from '../../parts/toast.tsx';
import { RecoveryCodes, StartSecondFactor } from './start-second-factor.tsx';

const TITLE = 'New recovery codes';

/** A dialog that replaces all recovery codes. */
function NewCodes({ onClose }: { onClose: () => void }) {
  const proof = { password: useSignal(''), code: useSignal('') };
  const made = useSignal<readonly string[] | null>(null);
  const formAction = useFormAction();
  const renew = () =>
    formAction.run(async () => {
      const { recovery_codes: codes } = await api.post('/user/recovery-codes', {
        body: { password: proof.password.value, code: proof.code.value.trim() },
      });
      made.value = codes;
      await loadSession();
    });
  if (made.value !== null) return <RecoveryCodes title={TITLE} codes={made.value} onClose={onClose} />;
  return (
    <ProofDialog
      title={TITLE}
      action="Create new codes"
      proof={proof}
      formAction={formAction}
      onSubmit={() => void renew()}
      onClose={onClose}
    />
  );
}

const DIALOGS = { start: StartSecondFactor, codes: NewCodes, stop: StopSecondFactor } as const;

/** The number of recovery codes left that is worth a warning. */
const FEW_CODES = 3;

/** The state of two-factor authentication, and buttons to turn it on or off and to renew the codes. */
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
              {left === 1 ? '1 recovery code left' : `${left} recovery codes left`}
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
          <p class="text-soft">Off. Use any authenticator app, such as Google Authenticator or 1Password.</p>
          <Button icon="key" onClick={() => (shown.value = 'start')}>
            Turn on
          </Button>
        </>
      )}
      {Shown !== null && <Shown onClose={() => (shown.value = null)} />}
    </div>
  );
}

/** A dialog that turns off two-factor authentication. */
function StopSecondFactor({ onClose }: { onClose: () => void }) {
  const proof = { password: useSignal(''), code: useSignal('') };
  const formAction = useFormAction();
  const stop = () =>
    formAction.run(async () => {
      await api.delete('/user/totp', { body: { password: proof.password.value, code: proof.code.value.trim() } });
      await loadSession();
      toast('Two-factor authentication turned off');
      onClose();
    });
  return (
    <ProofDialog
      title="Turn off two-factor authentication?"
      action="Turn off"
      tone="danger"
      proof={proof}
      formAction={formAction}
      onSubmit={() => void stop()}
      onClose={onClose}
    >
      <p class="text-sm text-soft">Signing in takes only your password. Other sessions will be signed out.</p>
    </ProofDialog>
  );
}

/** Password and code, which prove the user's identity. */
type Proof = { password: Signal<string>; code: Signal<string> };

type ProofDialogProps = {
  title: string;
  action: string;
  tone?: 'primary' | 'danger';
  proof: Proof;
  formAction: FormAction;
  onSubmit: () => void;
  onClose: () => void;
  children?: ComponentChildren;
};

/** A dialog that asks for password and code before a sensitive change. */
function ProofDialog({ proof, formAction, children, ...dialog }: ProofDialogProps) {
  const { byField, rest } = problemsByField(formAction.error.value, {
    password: 'Wrong password',
    code: 'Wrong code',
  });
  return (
    <FormDialog {...dialog} isBusy={formAction.isBusy.value} error={rest}>
      {children}
      <TextField
        label="Your password"
        type="password"
        autocomplete="current-password"
        required
        autofocus
        value={proof.password.value}
        error={byField['password']}
        onValue={(value) => (proof.password.value = value)}
      />
      <TextField
        label="Code"
        hint="From your authenticator app, or a recovery code."
        autocomplete="one-time-code"
        required
        maxLength={64}
        value={proof.code.value}
        error={byField['code']}
        onValue={(value) => (proof.code.value = value)}
      />
    </FormDialog>
  );
}
