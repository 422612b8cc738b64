import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { api } from '../../client/api.ts';
import { signedIn } from '../../client/session-state.ts';
import { loadSession } from '../../client/session.ts';
import { required, useJudgedForm } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { Badge } from '../../parts/status.tsx';
import { toast } from '../../parts/toast.tsx';
import { CodeField, PasswordField } from './proof-fields.tsx';
import { RecoveryCodes, StartSecondFactor } from './start-second-factor.tsx';

const TITLE = 'New recovery codes';

/** A dialog that replaces all recovery codes. */
function NewCodes({ onClose }: { onClose: () => void }) {
  const made = useSignal<readonly string[] | null>(null);
  const renew = async (proof: Proof) => {
    const { recovery_codes: codes } = await api.post('/user/recovery-codes', { body: proof });
    made.value = codes;
    await loadSession();
  };
  if (made.value !== null) return <RecoveryCodes title={TITLE} codes={made.value} onClose={onClose} />;
  return <ProofDialog title={TITLE} action="Create new codes" onProof={renew} onClose={onClose} />;
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
  const stop = async (proof: Proof) => {
    await api.delete('/user/totp', { body: proof });
    await loadSession();
    toast('Two-factor authentication turned off');
    onClose();
  };
  return (
    <ProofDialog
      title="Turn off two-factor authentication?"
      action="Turn off"
      tone="danger"
      onProof={stop}
      onClose={onClose}
    >
      <p class="text-sm text-soft">Signing in takes only your password. Other sessions will be signed out.</p>
    </ProofDialog>
  );
}

/** Password and code, which prove the user's identity. */
type Proof = { password: string; code: string };

type ProofDialogProps = {
  title: string;
  action: string;
  tone?: 'primary' | 'danger';
  onProof: (proof: Proof) => Promise<void>;
  onClose: () => void;
  children?: ComponentChildren;
};

/** A dialog that asks for password and code before a sensitive change. */
function ProofDialog({ onProof, children, ...dialog }: ProofDialogProps) {
  const password = useSignal('');
  const code = useSignal('');
  const form = useJudgedForm({ password: 'Wrong password', code: 'Wrong code' });
  const submit = () => {
    const proof = { password: password.value, code: code.value.trim() };
    const judged = {
      password: required(proof.password, 'Enter your password'),
      code: required(proof.code, 'Enter a code'),
    };
    return form.submit(judged, () => onProof(proof));
  };
  return (
    <FormDialog {...dialog} isBusy={form.isBusy.value} error={form.rest} onSubmit={() => void submit()}>
      {children}
      <PasswordField value={password} error={form.problem('password')} />
      <CodeField value={code} error={form.problem('code')} />
    </FormDialog>
  );
}
