import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction, useFormAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { confirm, FormDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { ShownOnceDialog } from '../../parts/shown-once.tsx';
import { Badge } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { clock, Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { ROLES, isRole, type Role } from './roles.ts';

type Invitation = Schemas['Invitation'];

/** The open invitations. */
export function Invitations() {
  const load = useLoad((signal) => api.get('/invitations', { signal }), []);
  const isInviting = useSignal(false);
  const reload = () => void load.reload();
  return (
    <Section
      title="Invitations"
      lead="A link with which one person joins, once, within seven days."
      actions={
        <Button tone="primary" size="small" icon="plus" onClick={() => (isInviting.value = true)}>
          Invite
        </Button>
      }
    >
      <Loaded load={load} height="h-24">
        {({ invitations }) =>
          invitations.length === 0 ? (
            <p class="text-sm text-soft">There are no open invitations.</p>
          ) : (
            <Table caption="Invitations" columns={columnsOf(reload)} rows={invitations} keyOf={({ id }) => id} />
          )
        }
      </Loaded>
      {isInviting.value && <NewInvitation onMade={reload} onClose={() => (isInviting.value = false)} />}
    </Section>
  );
}

function columnsOf(reload: () => void): Column<Invitation>[] {
  return [
    { head: 'E-mail', cell: ({ email }) => <span class="break-all">{email}</span> },
    { head: 'Role', cell: ({ role }) => ROLES[role].label },
    { head: 'By', cell: ({ invited_by: name }) => name ?? 'a former member', wideOnly: true, class: 'text-soft' },
    {
      head: 'Expires',
      cell: ({ expires_at: at }) => (at <= clock.value ? <Badge>Expired</Badge> : <Moment at={at} />),
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    { head: 'Action', cell: (invitation) => <TakeBack invitation={invitation} reload={reload} />, align: 'right' },
  ];
}

function TakeBack({ invitation: { id, email }, reload }: { invitation: Invitation; reload: () => void }) {
  const action = useAction();
  const takeBack = async () => {
    if (
      !(await confirm({
        title: `Take the invitation of ${email} back?`,
        text: 'Its link leads nowhere from then on.',
        action: 'Take back',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/invitations/{id}', { path: { id } });
      toast('The invitation is taken back');
      reload();
    });
  };
  return (
    <Button
      size="small"
      tone="danger"
      busy={action.isBusy.value}
      aria-label={`Take back the invitation of ${email}`}
      onClick={() => void takeBack()}
      class="-my-1.5"
    >
      Take back
    </Button>
  );
}

/** A dialog that creates an invitation and shows its link, which the inviting member passes on. */
function NewInvitation({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const email = useSignal('');
  const role = useSignal<Role>('editor');
  const made = useSignal<{ email: string; url: string } | null>(null);
  const formAction = useFormAction();
  const invite = () =>
    formAction.run(async () => {
      made.value = await api.post('/invitations', { body: { email: email.value.trim(), role: role.value } });
      onMade();
    });
  const { byField, rest } = problemsByField(formAction.error.value, {
    email: 'Enter an email address',
    role: 'Choose a role',
  });
  if (made.value !== null) {
    return (
      <ShownOnceDialog
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
      </ShownOnceDialog>
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
