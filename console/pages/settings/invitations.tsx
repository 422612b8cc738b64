import { useSignal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';
import { ROLES, isRole, useDraft, type Role } from '../../client/session-state.ts';
import { toast, useAction, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { CopyText, LoopbackHint, ShownOnceDialog } from '../../parts/copy.tsx';
import { FormDialog, confirm } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { Deadline, clock } from '../../parts/time.tsx';

type Invitation = Schemas['Invitation'];

type InvitationsProps = { invitations: readonly Invitation[]; reload: () => void };

/** The open invitations. */
export function Invitations({ invitations, reload }: InvitationsProps) {
  const isInviting = useDraft('invitation', false);
  return (
    <Section
      title="Invitations"
      lead="Single-use links, valid for 7 days."
      actions={
        <Button tone="primary" size="small" icon="plus" onClick={() => (isInviting.value = true)}>
          Invite
        </Button>
      }
    >
      {invitations.length === 0 ? (
        <p class="text-sm text-soft">No pending invitations.</p>
      ) : (
        <Table caption="Invitations" columns={columnsOf(reload)} rows={invitations} keyOf={({ id }) => id} />
      )}
      {isInviting.value && <NewInvitation onMade={reload} onClose={() => (isInviting.value = false)} />}
    </Section>
  );
}

function columnsOf(reload: () => void): Column<Invitation>[] {
  return [
    { head: 'Email', cell: ({ email }) => <LongText text={email} /> },
    { head: 'Role', cell: ({ role }) => ROLES[role].label },
    {
      head: 'Invited by',
      cell: ({ invited_by: name }) => <LongText text={name ?? 'former member'} />,
      wideOnly: true,
      class: 'text-soft',
    },
    {
      head: 'Expires',
      cell: ({ expires_at: at }) => (at <= clock.value ? <Badge>Expired</Badge> : <Deadline at={at} />),
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    { head: 'Action', cell: (invitation) => <Revoke invitation={invitation} reload={reload} />, isAction: true },
  ];
}

function Revoke({ invitation: { id, email }, reload }: { invitation: Invitation; reload: () => void }) {
  const action = useAction();
  const revoke = async () => {
    if (
      !(await confirm({
        title: `Revoke the invitation for ${email}?`,
        text: 'Its link stops working immediately.',
        action: 'Revoke invitation',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/invitations/{id}', { path: { id } });
      toast('Invitation revoked');
      reload();
    });
  };
  return (
    <Button
      size="small"
      tone="danger"
      busy={action.isBusy.value}
      aria-label={`Revoke the invitation for ${email}`}
      onClick={() => void revoke()}
      class="-my-1.5"
    >
      Revoke
    </Button>
  );
}

const NO_EMAIL = 'Enter an email address, such as ada@example.com';

/** Reports whether a text resembles an email address; the API decides. */
function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+$/.test(text.trim());
}

/** A dialog that creates an invitation and shows its link, which the inviting member passes on. */
function NewInvitation({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const email = useDraft('invitation email', '');
  const role = useDraft<Role>('invitation role', 'editor');
  const made = useSignal<{ email: string; url: string } | null>(null);
  const form = useJudgedForm({ email: NO_EMAIL, role: 'Choose a role' });
  const invite = () =>
    form.submit({ email: isEmail(email.value) ? null : NO_EMAIL }, async () => {
      made.value = await api.post('/invitations', {
        body: { email: email.value.trim(), role: role.value },
        creates: 'invitation',
      });
      // Nothing is left to restore.
      [email.value, role.value] = ['', 'editor'];
      onMade();
    });
  if (made.value !== null) {
    return (
      <ShownOnceDialog
        key="made"
        title="Invitation created"
        question="Sent the link?"
        text="It is shown only once. If you lose it, invite the person again."
        action="I’ve sent it"
        onClose={onClose}
      >
        <div class="grid grid-cols-1 gap-3 text-sm">
          <p>
            Send this link to <strong class="break-all font-medium">{made.value.email}</strong>. It works once, within 7
            days, for anyone who has it.
          </p>
          <CopyText text={made.value.url} label="Invitation link" />
          <LoopbackHint url={made.value.url}>
            Others can’t open this link: it leads to their own computer. Your administrator can set PUBLIC_URL to an
            address they can reach.
          </LoopbackHint>
        </div>
      </ShownOnceDialog>
    );
  }
  return (
    <FormDialog
      key="form"
      title="Invite a member"
      action="Create link"
      isBusy={form.isBusy.value}
      error={form.rest}
      onSubmit={() => void invite()}
      onClose={onClose}
    >
      <TextField
        label="Email"
        type="email"
        required
        autofocus
        maxLength={320}
        hint="Used to sign in."
        value={email.value}
        error={form.problem('email')}
        onValue={(value) => (email.value = value)}
      />
      <SelectField
        label="Role"
        hint={ROLES[role.value].access}
        value={role.value}
        options={Object.entries(ROLES).map(([value, { label }]) => ({ value, label }))}
        error={form.problem('role')}
        onValue={(value) => isRole(value) && (role.value = value)}
      />
    </FormDialog>
  );
}
