import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { signedIn } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { required, useAction, useJudgedForm } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { useLoad } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { useSignInMethods } from '../../parts/provider-button.tsx';
import { Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { CodeField, PasswordField } from './proof-fields.tsx';

type Identity = Schemas['Identity'];

/** The user's accounts at the sign-in provider; nothing where there is neither an account nor a provider. */
export function Identities() {
  const { open_id: provider = null } = useSignInMethods().value.value ?? {};
  const list = useLoad((signal) => api.get('/user/identities', { signal }), []);
  const isLinking = useSignal(false);
  const identities = list.value.value?.identities ?? null;
  if (identities === null || (provider === null && identities.length === 0)) return null;
  const canLink = provider !== null && identities.length === 0 && signedIn().user.has_password;
  return (
    <Section title="Sign-in provider" lead="Your account there signs you in without a password.">
      <Card>
        <div class="flex flex-col items-start gap-3 text-sm">
          {identities.map((identity) => (
            <LinkedIdentity key={identity.id} identity={identity} onUnlinked={() => void list.reload()} />
          ))}
          {canLink && (
            <>
              <p class="text-soft">Not linked.</p>
              <Button icon="key" onClick={() => (isLinking.value = true)}>
                Link {provider.name}
              </Button>
            </>
          )}
          {isLinking.value && provider !== null && (
            <LinkDialog name={provider.name} onClose={() => (isLinking.value = false)} />
          )}
        </div>
      </Card>
    </Section>
  );
}

function LinkedIdentity({ identity, onUnlinked }: { identity: Identity; onUnlinked: () => void }) {
  const action = useAction();
  const unlink = async () => {
    await api.delete('/user/identities/{id}', { path: { id: identity.id } });
    toast('Unlinked');
    onUnlinked();
  };
  return (
    <div class="flex flex-wrap items-center gap-x-4 gap-y-2">
      <p class="min-w-0 break-words">
        {identity.email === '' ? identity.issuer : `${identity.email} at ${identity.issuer}`}
        <span class="text-soft">
          {' '}
          · linked <Moment at={identity.created_at} />
        </span>
      </p>
      {signedIn().user.has_password && (
        <Button size="small" tone="danger" busy={action.isBusy.value} onClick={() => void action.run(unlink)}>
          Unlink
        </Button>
      )}
    </div>
  );
}

/** A dialog that asks who the user is before another way to sign in is added, and leads to the provider. */
function LinkDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { totp_enabled: hasCode } = signedIn().user;
  const password = useSignal('');
  const code = useSignal('');
  const form = useJudgedForm({ password: 'Wrong password', code: 'Wrong code' });
  const submit = () => {
    const judged = {
      password: required(password.value, 'Enter your password'),
      code: hasCode ? required(code.value.trim(), 'Enter a code') : null,
    };
    return form.submit(judged, async () => {
      const body = { password: password.value, ...(hasCode && { code: code.value.trim() }) };
      const { url } = await api.post('/user/identities', { body });
      location.assign(url);
    });
  };
  return (
    <FormDialog
      title={`Link ${name}`}
      action="Continue"
      isBusy={form.isBusy.value}
      error={form.rest}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p class="text-sm text-soft">Next, sign in there. From then on, that account signs you in here.</p>
      <PasswordField value={password} error={form.problem('password')} />
      {hasCode && <CodeField value={code} error={form.problem('code')} />}
    </FormDialog>
  );
}
