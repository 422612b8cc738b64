import { useSignal } from '@preact/signals';
import { Failure } from '../client/answer.ts';
import { request, type Schemas } from '../client/api.ts';
import { ROLES } from '../client/session-state.ts';
import { loadSession } from '../client/session.ts';
import { required, useJudgedForm } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { Form, FormError, TextField } from '../parts/field.tsx';
import { Loaded, useLoad } from '../parts/load.tsx';
import { useTitle } from '../parts/page.tsx';
import type { PageProps } from '../paths.ts';
import { OpenFrame, ProviderButton, useSignInMethods } from '../shell/open-frame.tsx';
import { navigate } from '../shell/router.ts';

type Invitation = Schemas['OpenInvitation'];

/** The page of an invitation's link: the invited person chooses a password and is signed in. */
export function InvitationPage({ params }: PageProps) {
  const token = params['token'] ?? '';
  const invitation = useLoad(
    (signal) =>
      request<Invitation>('GET', `/invitations/${encodeURIComponent(token)}`, { signal, answersOwn401: true }),
    [token],
  );
  useTitle('Invitation');
  if (invitation.error.value instanceof Failure && [404, 410].includes(invitation.error.value.status)) {
    return (
      <OpenFrame title="Invitation expired" lead="It was used, revoked, or is older than 7 days. Ask for a new one.">
        <SignInLink />
      </OpenFrame>
    );
  }
  const { value: found } = invitation.value;
  if (found !== null) return <Acceptance invitation={found} token={token} />;
  return (
    <OpenFrame title="Invitation">
      <Loaded load={invitation}>{() => null}</Loaded>
    </OpenFrame>
  );
}

function hasNoAnswer(failure: unknown): boolean {
  return failure instanceof Failure && failure.status === 0;
}

function SignInLink() {
  return (
    <a class="text-sm font-medium text-accent underline underline-offset-2" href="/">
      Sign in
    </a>
  );
}

function Acceptance({ invitation, token }: { invitation: Invitation; token: string }) {
  const { password: takesPasswords = true, open_id: provider = null } = useSignInMethods().value.value ?? {};
  const name = useSignal('');
  const password = useSignal('');
  const form = useJudgedForm({
    name: 'Enter your name',
    password: (sentence) =>
      sentence.includes('email') ? 'Choose something other than your email' : 'Use 12 to 1024 characters',
  });
  const { is, access } = ROLES[invitation.role];
  const { invited_by: inviter } = invitation;
  const role = `${is}: ${access.charAt(0).toLowerCase()}${access.slice(1)}`;
  const judge = () => ({
    name: required(name.value.trim(), 'Enter your name'),
    password: Array.from(password.value).length < 12 ? 'Use 12 to 1024 characters' : null,
  });
  const accept = () =>
    form.submit(judge(), async () => {
      try {
        await request('POST', '/invitations/accept', {
          body: { token, name: name.value.trim(), password: password.value },
          answersOwn401: true,
        });
        await loadSession();
      } catch (failure) {
        // Without a connection the request was never sent.
        if (!hasNoAnswer(failure) || !navigator.onLine) throw failure;
        throw new Failure('the connection was lost. You may have joined: try to sign in', { status: 0 });
      }
      navigate('/', { replace: true });
    });
  return (
    <OpenFrame
      title={`Join ${invitation.tenant.name}`}
      lead={`${inviter === undefined ? 'You’re invited' : `${inviter} invites you`} as ${role}.`}
    >
      <div class="flex flex-col gap-4">
        {takesPasswords && (
          <Form class="flex flex-col gap-4" onSubmit={accept}>
            <TextField
              label="Email"
              value={invitation.email}
              onValue={() => undefined}
              readOnly
              autocomplete="username"
            />
            <TextField
              label="Name"
              value={name.value}
              autocomplete="name"
              required
              autofocus
              maxLength={255}
              error={form.problem('name')}
              onValue={(value) => (name.value = value)}
            />
            <TextField
              label="Password"
              type="password"
              value={password.value}
              autocomplete="new-password"
              required
              minLength={12}
              hint="At least 12 characters."
              error={form.problem('password')}
              onValue={(value) => (password.value = value)}
            />
            <FormError text={form.rest} />
            {hasNoAnswer(form.failure) && <SignInLink />}
            <Button type="submit" tone="primary" busy={form.isBusy.value} class="w-full">
              Join
            </Button>
          </Form>
        )}
        {provider !== null && (
          <ProviderButton
            label={`Join with ${provider.name}`}
            tone={takesPasswords ? 'plain' : 'primary'}
            invitation={token}
          />
        )}
      </div>
    </OpenFrame>
  );
}
