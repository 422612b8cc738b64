import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Failure } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { presentSession, signedIn } from '../../client/session-state.ts';
import { loadSession } from '../../client/session.ts';
import { required, toast, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyText, ShownOnceDialog } from '../../parts/copy.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { Badge } from '../../parts/status.tsx';

/** Errors of the proof fields that the API refuses. A code works once, also to sign in. */
export const PROOF_TEXTS = {
  password: 'Wrong password',
  code: 'Wrong code, or it was already used: wait for the next one',
} as const;

/**
 * Sends a change of two-factor authentication. Returns null if that was already turned on or off, as by a request whose
 * response was lost; then it has closed the dialog and shown a toast.
 */
async function change<T>(send: () => Promise<T>, onClose: () => void): Promise<T | null> {
  const wasOn = signedIn().user.totp_enabled;
  try {
    return await send();
  } catch (failure) {
    if (!(failure instanceof Failure) || ![0, 409].includes(failure.status)) throw failure;
    await loadSession().catch(() => undefined);
    const now = presentSession();
    if (now === null || now.user.totp_enabled === wasOn) throw failure;
    toast(
      wasOn
        ? 'Two-factor authentication is off'
        : 'Two-factor authentication is on. If you have no recovery codes, create new ones',
    );
    onClose();
    return null;
  }
}

const CODES_TITLE = 'New recovery codes';

/** A dialog that replaces all recovery codes. */
function NewCodes({ onClose }: { onClose: () => void }) {
  const made = useSignal<readonly string[] | null>(null);
  const renew = async (proof: Proof) => {
    const answer = await change(() => api.post('/user/recovery-codes', { body: proof }), onClose);
    if (answer === null) return;
    made.value = answer.recovery_codes;
    await loadSession();
  };
  if (made.value !== null) return <RecoveryCodes title={CODES_TITLE} codes={made.value} onClose={onClose} />;
  return <ProofDialog title={CODES_TITLE} action="Create new codes" onProof={renew} onClose={onClose} />;
}

const DIALOGS = { start: StartSecondFactor, codes: NewCodes, stop: StopSecondFactor } as const;

/** Number of remaining recovery codes that is worth a warning. */
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
            <span class={left <= FEW_CODES ? 'text-degraded' : 'text-soft'}>{count(left, 'recovery code')} left</span>
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
    if ((await change(() => api.delete('/user/totp', { body: proof }), onClose)) === null) return;
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
  const form = useJudgedForm(PROOF_TEXTS);
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

type Started = Schemas['TotpDraft'];

const START_TITLE = 'Turn on two-factor authentication';

/** A dialog that turns on two-factor authentication: password, QR code, first code, recovery codes. */
function StartSecondFactor({ onClose }: { onClose: () => void }) {
  const password = useSignal('');
  const started = useSignal<Started | null>(null);
  const code = useSignal('');
  const form = useJudgedForm(PROOF_TEXTS);
  const made = useSignal<readonly string[] | null>(null);
  const start = () =>
    form.submit({ password: required(password.value, 'Enter your password') }, async () => {
      started.value = await change(() => api.post('/user/totp', { body: { password: password.value } }), onClose);
    });
  const finish = () =>
    form.submit({ code: required(code.value.trim(), 'Enter the code from your app') }, async () => {
      const body = { code: code.value.trim() };
      const answer = await change(() => api.post('/user/totp/confirm', { body }), onClose);
      if (answer === null) return;
      made.value = answer.recovery_codes;
      await loadSession();
      toast('Two-factor authentication turned on');
    });
  if (made.value !== null) return <RecoveryCodes title={START_TITLE} codes={made.value} onClose={onClose} />;
  const isFirst = started.value === null;
  return (
    // A new dialog for each step, so that its first field takes the focus.
    <FormDialog
      key={isFirst ? 'password' : 'code'}
      title={START_TITLE}
      action={isFirst ? 'Continue' : 'Turn on'}
      isBusy={form.isBusy.value}
      error={form.rest}
      onSubmit={() => void (isFirst ? start() : finish())}
      onClose={onClose}
    >
      {started.value === null ? (
        <PasswordField key="password" value={password} error={form.problem('password')} />
      ) : (
        <>
          <Picture started={started.value} />
          <TextField
            key="code"
            label="6-digit code"
            inputMode="numeric"
            autocomplete="one-time-code"
            required
            autofocus
            maxLength={12}
            value={code.value}
            error={form.problem('code')}
            onValue={(value) => (code.value = value)}
          />
        </>
      )}
    </FormDialog>
  );
}

function Picture({ started: { secret, otpauth_url: url, qr_svg: svg } }: { started: Started }) {
  return (
    <>
      <p class="text-sm text-soft">
        Scan this with your authenticator app, or{' '}
        <a class="text-accent underline underline-offset-2" href={url}>
          open it on this device
        </a>
        .
      </p>
      {/* Apps read QR codes only dark on white. */}
      <img
        class="mx-auto size-48 rounded-lg bg-[#fff] p-2"
        src={`data:image/svg+xml,${encodeURIComponent(svg)}`}
        alt="QR code of the secret below"
      />
      <div class="text-sm">
        <div class="mb-1 text-soft">Or enter the secret:</div>
        <CopyText text={secret} label="Secret" />
      </div>
    </>
  );
}

/** Recovery codes, shown once. */
function RecoveryCodes({ title, codes, onClose }: { title: string; codes: readonly string[]; onClose: () => void }) {
  return (
    <ShownOnceDialog
      title={title}
      question="Saved the codes?"
      text="They are shown only once. Without them, losing your phone locks you out."
      action="I’ve saved them"
      onClose={onClose}
    >
      <div class="flex flex-col gap-3 text-sm">
        <p>Store these somewhere other than your phone. Each code works once.</p>
        <CopyText text={codes.join('\n')} label="Recovery codes" />
      </div>
    </ShownOnceDialog>
  );
}

type ProofField = { value: Signal<string>; error: string | undefined };

/** The password that proves the user's identity before a change of sign-in methods. */
export function PasswordField({ value, error }: ProofField) {
  return (
    <TextField
      label="Your password"
      type="password"
      autocomplete="current-password"
      required
      autofocus
      value={value.value}
      error={error}
      onValue={(text) => (value.value = text)}
    />
  );
}

/** The two-factor code that proves the user's identity likewise. */
export function CodeField({ value, error }: ProofField) {
  return (
    <TextField
      label="Code"
      hint="From your authenticator app, or a recovery code."
      autocomplete="one-time-code"
      required
      maxLength={64}
      value={value.value}
      error={error}
      onValue={(text) => (value.value = text)}
    />
  );
}
