import { useSignal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';
import { usePoll } from '../../client/live.ts';
import { ROLES, endSession, isRole, session, signedIn, type Role } from '../../client/session-state.ts';
import { loadSession } from '../../client/session.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Loaded, useLoad, type Load } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { Moment, clock } from '../../parts/time.tsx';
import { NameForm } from './account.tsx';
import { Invitations } from './invitations.tsx';

type Member = Schemas['Member'];
type Invitation = Schemas['Invitation'];
/** Members and open invitations, which only owners see. */
type Answer = { members: readonly Member[]; invitations: readonly Invitation[] };

/** Interval of reloading while an invitation may be accepted, in milliseconds. */
const POLL_MS = 5000;

/** The members of the account and their roles. Owners can change them; every member can leave. */
export function MemberSettings() {
  const load = useLoad<Answer>(async (signal) => {
    // Invitations come first: a person who accepts one meanwhile is in both lists, and never in neither.
    const { invitations } =
      signedIn().user.role === 'owner' ? await api.get('/invitations', { signal }) : { invitations: [] };
    const { members } = await api.get('/members', { signal });
    return { members, invitations };
  }, []);
  const isAnyOpen = load.value.value?.invitations.some(({ expires_at: at }) => at > clock.value) ?? false;
  usePoll(load, isAnyOpen, POLL_MS);
  const isOwner = signedIn().user.role === 'owner';
  return (
    <Loaded load={load}>
      {(answer) => (
        <>
          <Members answer={answer} load={load} isOwner={isOwner} />
          {isOwner && <Invitations invitations={answer.invitations} reload={() => void load.reload()} />}
          {isOwner && <AccountName />}
        </>
      )}
    </Loaded>
  );
}

/** A form that renames the account. */
function AccountName() {
  const { tenant } = signedIn();
  const rename = async (name: string) => {
    const renamed = await api.patch('/account', { body: { name } });
    session.value = { ...signedIn(), tenant: renamed };
    toast('Account renamed');
    return renamed.name;
  };
  return (
    <Section title="Account">
      <Card>
        <NameForm
          draft="account name"
          label="Account name"
          action="Rename account"
          stored={tenant.name}
          isRequired
          hint="Shown to members and in invitations."
          onRename={rename}
        />
      </Card>
    </Section>
  );
}

function Members({ answer: { members }, load, isOwner }: { answer: Answer; load: Load<Answer>; isOwner: boolean }) {
  const owners = members.filter(({ role }) => role === 'owner').length;
  const columns: readonly Column<Member>[] = [
    { head: 'Member', cell: (member) => <Who member={member} /> },
    { head: 'Role', cell: (member) => (isOwner ? <RoleOf member={member} load={load} /> : ROLES[member.role].label) },
    {
      head: '2FA',
      cell: ({ totp_enabled: isOn }) => (isOn ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>),
      wideOnly: true,
    },
    {
      head: 'Last sign-in',
      cell: ({ last_signed_in_at: at }) => (at === null ? 'never' : <Moment at={at} />),
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    {
      head: 'Action',
      cell: (member) =>
        ((isOwner || member.is_you) && (
          <Remove member={member} load={load} isLastOwner={member.role === 'owner' && owners === 1} />
        )) ||
        null,
      isAction: true,
    },
  ];
  return (
    <Section title="Members" lead="Owner: full access. Editor: monitors, channels and agents. Viewer: read-only.">
      <Table caption="Members" columns={columns} rows={members} keyOf={({ id }) => id} />
    </Section>
  );
}

function Who({ member: { name, email, is_you: isYou } }: { member: Member }) {
  return (
    <div class="min-w-0">
      <div class="flex flex-wrap items-center gap-x-2">
        <LongText text={name === '' ? email : name} class="font-medium" />
        {isYou && <Badge>you</Badge>}
      </div>
      {name !== '' && <div class="break-all text-xs text-soft">{email}</div>}
    </div>
  );
}

function RoleOf({ member, load }: { member: Member; load: Load<Answer> }) {
  const action = useAction();
  const chosen = useSignal<Role | null>(null);
  const called = member.name === '' ? member.email : member.name;
  const change = async (role: Role) => {
    chosen.value = role;
    if (await confirm(questionOf(member, { called, role })))
      await action.run(async () => {
        try {
          await api.patch('/members/{id}', { path: { id: member.id }, body: { role } });
          toast(`${called} is now ${ROLES[role].is}`);
          if (member.is_you) await loadSession();
        } catch (failure) {
          // It is reported at once.
          void load.reload();
          throw failure;
        }
        await load.reload();
      });
    chosen.value = null;
  };
  return (
    <SelectField
      label={`Role of ${called}`}
      hideLabel
      busy={action.isBusy.value}
      value={chosen.value ?? member.role}
      options={Object.entries(ROLES).map(([value, { label }]) => ({ value, label }))}
      onValue={(role) => isRole(role) && role !== member.role && void change(role)}
      class="-my-1.5 min-w-24 max-w-36"
    />
  );
}

function questionOf(member: Member, { called, role }: { called: string; role: Role }) {
  const { is, access } = ROLES[role];
  return {
    title: member.is_you ? `Become ${is}?` : `Make ${called} ${is}?`,
    text: member.is_you
      ? `${access}. Only another owner can change this back.`
      : `${access}. They are signed out and have to sign in again.`,
    action: 'Change role',
    tone: 'primary' as const,
  };
}

function Remove({ member, load, isLastOwner }: { member: Member; load: Load<Answer>; isLastOwner: boolean }) {
  const action = useAction();
  const { id, is_you: isYou } = member;
  const called = member.name === '' ? member.email : member.name;
  const remove = async () => {
    const text = isYou
      ? 'You are signed out immediately. Only an invitation brings you back.'
      : 'They are signed out immediately. What they created stays.';
    if (
      !(await confirm({
        title: isYou ? `Leave ${signedIn().tenant.name}?` : `Remove ${called}?`,
        text,
        action: isYou ? 'Leave account' : 'Remove member',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/members/{id}', { path: { id } });
      if (isYou) return endSession();
      toast(`${called} removed`);
      await load.reload();
    });
  };
  return (
    <>
      {isLastOwner && (
        <span class="mr-2 whitespace-nowrap text-xs text-soft" id={`${id}-stays`}>
          Only owner
        </span>
      )}
      <Button
        size="small"
        tone="danger"
        busy={action.isBusy.value}
        disabled={isLastOwner}
        {...(isLastOwner && { 'aria-describedby': `${id}-stays`, title: 'Make another member an owner first' })}
        aria-label={isYou ? 'Leave the account' : `Remove ${called}`}
        onClick={() => void remove()}
        class="-my-1.5"
      >
        {isYou ? 'Leave' : 'Remove'}
      </Button>
    </>
  );
}
