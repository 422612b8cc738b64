import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { Button } from '../../parts/button.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FormError, SelectField, TextField } from '../../parts/field.tsx';
import { isRole, ROLES, type Role } from './roles.ts';
import { useTask } from './use-task.ts';

const FORM = 'new-invitation';

/** Makes an invitation and shows its link, which whoever invites hands over. */
export function NewInvitation({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const email = useSignal('');
  const role = useSignal<Role>('editor');
  const made = useSignal<{ email: string; url: string } | null>(null);
  const task = useTask();
  const invite = () =>
    task.run(async () => {
      made.value = await api.post('/invitations', { body: { email: email.value.trim(), role: role.value } });
      onMade();
    });
  const { byField, rest } = problemsByField(task.error.value, ['email', 'role']);
  if (made.value !== null) {
    return (
      <Dialog
        key="made"
        title="The invitation"
        wide
        onClose={onClose}
        actions={
          <Button tone="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <div class="grid grid-cols-1 gap-3 text-sm">
          <p>
            Send this link to <strong class="break-all font-medium">{made.value.email}</strong>; nobody else should have it. It is shown this once and works once, within seven days.
          </p>
          <CopyText text={made.value.url} label="Link of the invitation" />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      key="form"
      title="Invite a member"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={FORM} tone="primary" busy={task.isBusy.value}>
            Make link
          </Button>
        </>
      }
    >
      <form
        id={FORM}
        class="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void invite();
        }}
      >
        <TextField label="E-mail" type="email" required autofocus maxLength={320} hint="What they sign in with." value={email.value} error={byField['email']} onValue={(value) => (email.value = value)} />
        <SelectField
          label="Role"
          hint={`They ${ROLES[role.value].may}.`}
          value={role.value}
          options={Object.entries(ROLES).map(([value, { label }]) => ({ value, label }))}
          error={byField['role']}
          onValue={(value) => isRole(value) && (role.value = value)}
        />
        <FormError text={rest} />
      </form>
    </Dialog>
  );
}
