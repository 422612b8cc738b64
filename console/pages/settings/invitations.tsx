import { useSignal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';
import { useAction } from '../../parts/action.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { clock, Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { NewInvitation } from './new-invitation.tsx';
import { ROLES } from './roles.ts';

type Invitation = Schemas['Invitation'];

/** Who is invited and has not come yet. */
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
