import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { CopyText } from '../../parts/copy.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { useFormAction } from '../../parts/form-action.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { KeptDialog } from '../../parts/kept.tsx';
import { isRole, ROLES, type Role } from './roles.ts';

/** Makes an invitation and shows its link, to be handed over by the member who invites. */
export function NewInvitation({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const email = useSignal('');
  const role = useSignal<Role>('editor');
  const made = useSignal<{ email: string; url: string } | null>(null);
  const formAction = useFormAction();
  const invite = () =>
    formAction.run(async () => {
      made.value = await api.post('/invitations', { body: { email: email.value.trim(), role: role.value } });
      onMade();
    });
  const { byField, rest } = problemsByField(formAction.error.value, ['email', 'role']);
  if (made.value !== null) {
    return (
      <KeptDialog
        key="made"
        title="The invitation"
        question="Have you kept the link?"
        text="It is not shown again. A lost one is taken back, and a new one made."
        onClose={onClose}
      >
        <div class="grid grid-cols-1 gap-3 text-sm">
          <p>
            Send this link to <strong class="break-all font-medium">{made.value.email}</strong>; no one else should have
            it. It is shown this once and works once, within seven days.
          </p>
          <CopyText text={made.value.url} label="Link of the invitation" />
        </div>
      </KeptDialog>
    );
  }
  return (
    <FormDialog
      key="form"
      title="Invite a member"
      action="Make link"
      isBusy={formAction.isBusy.value}
      error={rest}
      onSubmit={() => void invite()}
      onClose={onClose}
    >
      <TextField
        label="E-mail"
        type="email"
        required
        autofocus
        maxLength={320}
        hint="What they sign in with."
        value={email.value}
        error={byField['email']}
        onValue={(value) => (email.value = value)}
      />
      <SelectField
        label="Role"
        hint={`They ${ROLES[role.value].may}.`}
        value={role.value}
        options={Object.entries(ROLES).map(([value, { label }]) => ({ value, label }))}
        error={byField['role']}
        onValue={(value) => isRole(value) && (role.value = value)}
      />
    </FormDialog>
  );
}
