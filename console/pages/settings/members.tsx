import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { endSession, signedIn } from '../../client/session-state.ts';
import { loadSession } from '../../client/session.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Loaded, useLoad, type Load } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { Invitations } from './invitations.tsx';
import { isRole, ROLES, type Role } from './roles.ts';

type Member = Schemas['Member'];
type Answer = { members: readonly Member[] };

/** The members of the account and their roles. Owners change them; everybody may leave. */
export function MemberSettings() {
  const load = useLoad((signal) => api.get('/members', { signal }), []);
  const isOwner = signedIn().user.role === 'owner';
  return (
    <Loaded load={load}>
      {(answer) => (
        <>
          <Members answer={answer} load={load} isOwner={isOwner} />
          {/* Not before the members, which would push it down. */}
          {isOwner && <Invitations />}
        </>
      )}
    </Loaded>
  );
}

function Members({ answer: { members }, load, isOwner }: { answer: Answer; load: Load<Answer>; isOwner: boolean }) {
  const columns: readonly Column<Member>[] = [
    { head: 'Member', cell: (member) => <Who member={member} /> },
    { head: 'Role', cell: (member) => (isOwner ? <RoleOf member={member} load={load} /> : ROLES[member.role].label) },
    {
      head: 'Second factor',
      cell: ({ totp_enabled: isOn }) => (isOn ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>),
      wideOnly: true,
    },
    {
      head: 'Last signed in',
      cell: ({ last_signed_in_at: at }) => (at === null ? 'never' : <Moment at={at} />),
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    {
      head: 'Action',
      cell: (member) => ((isOwner || member.is_you) && <Remove member={member} load={load} />) || null,
      align: 'right',
    },
  ];
  return (
    <Section title="Members" lead="Owners may change everything, editors monitors, channels and agents; viewers look.">
      <Table caption="Members" columns={columns} rows={members} keyOf={({ id }) => id} isStacked />
    </Section>
  );
}

function Who({ member: { name, email, is_you: isYou } }: { member: Member }) {
  return (
    <div class="min-w-0">
      <div class="flex flex-wrap items-center gap-x-2">
        <span class="break-words font-medium">{name === '' ? email : name}</span>
        {isYou && <Badge>you</Badge>}
      </div>
      {name !== '' && <div class="break-all text-xs text-soft">{email}</div>}
    </div>
  );
}

function RoleOf({ member, load }: { member: Member; load: Load<Answer> }) {
  const action = useAction();
  const choices = useSignal(0);
  const called = member.name === '' ? member.email : member.name;
  const change = async (role: Role) => {
    const isSure = await confirm(questionOf(member, { called, role }));
    choices.value += 1;
    if (!isSure) return;
    await action.run(async () => {
      await api.patch('/members/{id}', { path: { id: member.id }, body: { role } });
      toast(`${called} is ${ROLES[role].is} now`);
      if (member.is_you) await loadSession();
    });
    await load.reload();
  };
  return (
    <SelectField
      // A new key resets the choice if it was not confirmed or has failed.
      key={choices.value}
      label={`Role of ${called}`}
      hideLabel
      disabled={action.isBusy.value}
      value={member.role}
      options={Object.entries(ROLES).map(([value, { label }]) => ({ value, label }))}
      onValue={(role) => isRole(role) && role !== member.role && void change(role)}
      class="-my-1.5 min-w-24 max-w-36"
    />
  );
}

function questionOf(member: Member, { called, role }: { called: string; role: Role }) {
  const { is, may } = ROLES[role];
  return {
    title: member.is_you ? `Be ${is} from now on?` : `Make ${called} ${is}?`,
    text: member.is_you
      ? `You ${may} then, and only another owner can change that back.`
      : `They ${may} then, and have to sign in anew.`,
    action: 'Change role',
    tone: 'primary' as const,
  };
}

function Remove({ member, load }: { member: Member; load: Load<Answer> }) {
  const action = useAction();
  const { id, is_you: isYou } = member;
  const called = member.name === '' ? member.email : member.name;
  const remove = async () => {
    const text = isYou
      ? 'You are signed out at once, and come back by invitation only.'
      : 'They are signed out at once. What they made stays.';
    if (
      !(await confirm({
        title: isYou ? `Leave ${signedIn().tenant.name}?` : `Remove ${called}?`,
        text,
        action: isYou ? 'Leave' : 'Remove member',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/members/{id}', { path: { id } });
      if (isYou) return endSession();
      toast(`${called} is removed`);
      await load.reload();
    });
  };
  return (
    <Button
      size="small"
      tone="danger"
      busy={action.isBusy.value}
      aria-label={isYou ? 'Leave the account' : `Remove ${called}`}
      onClick={() => void remove()}
      class="-my-1.5"
    >
      {isYou ? 'Leave' : 'Remove'}
    </Button>
  );
}
