import { useSignal } from '@preact/signals';
import { DAY_SECONDS } from '../../../core/time.ts';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { useFormAction } from '../../parts/action.ts';
import { SelectField } from '../../parts/choice-fields.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { ShownOnceDialog } from '../../parts/shown-once.tsx';

const SCOPES = [
  { value: 'read', label: 'Read' },
  { value: 'write', label: 'Read and write' },
] as const;

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
] as const;

/** A dialog that creates a token and shows it once. */
export function NewToken({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const name = useSignal('');
  const scope = useSignal('read');
  const expiry = useSignal('');
  const made = useSignal<string | null>(null);
  const formAction = useFormAction();
  const make = () =>
    formAction.run(async () => {
      const days = Number(expiry.value);
      const { token } = await api.post('/tokens', {
        body: {
          name: name.value.trim(),
          scopes: scope.value === 'write' ? ['read', 'write'] : ['read'],
          ...(days > 0 && { expires_at: Math.floor(Date.now() / 1000) + days * DAY_SECONDS }),
        },
      });
      made.value = token;
      onMade();
    });
  const { byField, rest } = problemsByField(formAction.error.value, ['name', 'scopes', 'expires_at']);
  if (made.value !== null) {
    return (
      <ShownOnceDialog
        key="made"
        title="Your new token"
        question="Have you kept the token?"
        text="It is not shown again. A lost one is revoked, and a new one made."
        onClose={onClose}
      >
        <Made token={made.value} />
      </ShownOnceDialog>
    );
  }
  return (
    <FormDialog
      key="form"
      title="New API token"
      action="Make token"
      isBusy={formAction.isBusy.value}
      error={rest}
      onSubmit={() => void make()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Where it is used, such as Terraform or the office screen."
        required
        autofocus
        maxLength={255}
        value={name.value}
        error={byField['name']}
        onValue={(value) => (name.value = value)}
      />
      <SelectField
        label="It may"
        hint="Read and write changes monitors, channels and agents; neither sees members or tokens."
        options={SCOPES}
        value={scope.value}
        error={byField['scopes']}
        onValue={(value) => (scope.value = value)}
      />
      <SelectField
        label="It expires"
        options={EXPIRIES}
        value={expiry.value}
        error={byField['expires_at']}
        onValue={(value) => (expiry.value = value)}
      />
    </FormDialog>
  );
}

function Made({ token }: { token: string }) {
  return (
    <div class="grid grid-cols-1 gap-4 text-sm">
      <p>Keep it where secrets are kept: it is shown this once, and we store nothing that it could be read from.</p>
      <CopyText text={token} label="API token" />
      <div>
        <div class="mb-1 text-soft">A first call:</div>
        <CopyText
          text={`curl -H 'Authorization: Bearer ${token}' ${window.location.origin}/v1/monitors`}
          label="Command that lists the monitors"
        />
      </div>
    </div>
  );
}
