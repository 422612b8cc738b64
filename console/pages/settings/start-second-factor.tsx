import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { loadSession } from '../../client/session.ts';
import type { Schemas } from '../../client/shapes.ts';
import { required, useJudgedForm } from '../../parts/action.ts';
import { CopyText } from '../../parts/copy.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { ShownOnceDialog } from '../../parts/shown-once.tsx';
import { toast } from '../../parts/toast.tsx';
import { PasswordField } from './proof-fields.tsx';

type Started = Schemas['TotpDraft'];

const TITLE = 'Turn on two-factor authentication';

/** A dialog that turns on two-factor authentication: password, QR code, first code, recovery codes. */
export function StartSecondFactor({ onClose }: { onClose: () => void }) {
  const password = useSignal('');
  const started = useSignal<Started | null>(null);
  const code = useSignal('');
  const form = useJudgedForm({ password: 'Wrong password', code: 'Wrong code' });
  const made = useSignal<readonly string[] | null>(null);
  const start = () =>
    form.submit({ password: required(password.value, 'Enter your password') }, async () => {
      started.value = await api.post('/user/totp', { body: { password: password.value } });
    });
  const finish = () =>
    form.submit({ code: required(code.value.trim(), 'Enter the code from your app') }, async () => {
      const { recovery_codes: codes } = await api.post('/user/totp/confirm', { body: { code: code.value.trim() } });
      made.value = codes;
      await loadSession();
      toast('Two-factor authentication turned on');
    });
  if (made.value !== null) return <RecoveryCodes title={TITLE} codes={made.value} onClose={onClose} />;
  const isFirst = started.value === null;
  return (
    // A new dialog for each step, so that its first field takes the focus.
    <FormDialog
      key={isFirst ? 'password' : 'code'}
      title={TITLE}
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
export function RecoveryCodes({
  title,
  codes,
  onClose,
}: {
  title: string;
  codes: readonly string[];
  onClose: () => void;
}) {
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
