import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Failure } from '../client/answer.ts';
import { drafts, lostBy } from '../client/session-state.ts';
import { signIn } from '../client/session.ts';
import { required, useJudgedForm } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { Form, FormError, TextField } from '../parts/field.tsx';
import { useTitle } from '../parts/page.tsx';
import { OpenFrame, ProviderButton, useSignInMethods } from '../shell/open-frame.tsx';

const TEXTS = { email: 'Enter your email', password: 'Enter your password', code: 'Enter a code' } as const;

/** The sign-in page: address and password, then the code if there is a second factor; or the provider's button. */
export function SignInPage() {
  const methods = useSignInMethods();
  const usesPassword = useSignal(false);
  const { password: takesPasswords = true, open_id: provider = null } = methods.value.value ?? {};
  const email = useSignal('');
  const password = useSignal('');
  const code = useSignal('');
  const asksCode = useSignal(false);
  const form = useJudgedForm(TEXTS);
  useTitle('Sign in');

  const judge = (): Record<string, string | null> =>
    asksCode.value
      ? { code: required(code.value.trim(), TEXTS.code) }
      : { email: required(email.value.trim(), TEXTS.email), password: required(password.value, TEXTS.password) };
  const submit = () =>
    form.submit(judge(), async () => {
      const outcome = await signIn({
        email: email.value.trim(),
        password: password.value,
        ...(asksCode.value && { code: code.value.trim() }),
      }).catch((failure: unknown) => {
        code.value = '';
        throw failure;
      });
      asksCode.value = outcome === 'code-required';
    });
  const startAnew = () => {
    asksCode.value = false;
    code.value = '';
    form.clear();
  };

  const isRefused = form.failure instanceof Failure && form.failure.status === 401;
  const refusal = asksCode.value ? 'Incorrect code, or it was already used' : 'Incorrect email or password';
  return (
    <OpenFrame
      title={asksCode.value ? 'Two-factor authentication' : 'Sign in'}
      lead={asksCode.value ? 'Enter the code from your authenticator app. You can also use a recovery code.' : reason()}
    >
      <div class="flex flex-col gap-4">
        {(takesPasswords || usesPassword.value || asksCode.value) && (
          <Form class="flex flex-col gap-4" onSubmit={submit}>
            {asksCode.value ? (
              <CodeField value={code.value} error={form.problem('code')} onValue={(value) => (code.value = value)} />
            ) : (
              <>
                <TextField
                  label="Email"
                  type="text"
                  inputMode="email"
                  autocomplete="username"
                  autocapitalize="none"
                  spellcheck={false}
                  required
                  autofocus
                  value={email.value}
                  error={form.problem('email')}
                  onValue={(value) => (email.value = value)}
                />
                <TextField
                  label="Password"
                  type="password"
                  autocomplete="current-password"
                  required
                  value={password.value}
                  error={form.problem('password')}
                  onValue={(value) => (password.value = value)}
                />
              </>
            )}
            <FormError text={isRefused ? refusal : form.rest} />
            <Button type="submit" tone="primary" busy={form.isBusy.value} class="w-full">
              {asksCode.value ? 'Continue' : 'Sign in'}
            </Button>
            {asksCode.value && (
              <Button tone="quiet" onClick={startAnew} class="w-full">
                Back
              </Button>
            )}
          </Form>
        )}
        {provider !== null && !asksCode.value && (
          <ProviderButton label={`Sign in with ${provider.name}`} tone={takesPasswords ? 'plain' : 'primary'} />
        )}
        {!takesPasswords && !usesPassword.value && !asksCode.value && (
          <Button tone="quiet" onClick={() => (usesPassword.value = true)} class="w-full">
            Use a password from your operator
          </Button>
        )}
      </div>
    </OpenFrame>
  );
}

/** Returns why the user has to sign in, unless they signed out; undefined otherwise. */
function reason(): string | undefined {
  if (lostBy.value === 'removed') return 'You no longer have access to this account.';
  if (lostBy.value === null && !drafts.isAny) return undefined;
  const ended = 'Your session expired or was ended elsewhere. Sign in to continue';
  return drafts.isAny ? `${ended}; what you typed is kept, except secrets and webhook URLs.` : `${ended}.`;
}

function CodeField({
  value,
  error,
  onValue,
}: {
  value: string;
  error: string | undefined;
  onValue: (value: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector('input')?.focus(), []);
  return (
    <div ref={box}>
      <TextField
        label="Code"
        autocomplete="one-time-code"
        autocapitalize="none"
        spellcheck={false}
        required
        value={value}
        error={error}
        onValue={onValue}
      />
    </div>
  );
}
