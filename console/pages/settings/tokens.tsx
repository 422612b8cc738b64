import { useSignal } from '@preact/signals';
import { DAY_SECONDS } from '../../../core/time.ts';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { INSTALLATION_URL } from '../../client/base-path.ts';
import { useDraft } from '../../client/session-state.ts';
import { required, toast, useAction, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { CopyText, ShownOnceDialog } from '../../parts/copy.tsx';
import { FormDialog, confirm } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Empty, Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { Deadline, Moment, clock } from '../../parts/time.tsx';

type Token = Schemas['ApiToken'];

/** The API tokens of the account. */
export function TokenSettings() {
  const load = useLoad(async (signal) => {
    const [{ tokens }, usage] = await Promise.all([api.get('/tokens', { signal }), api.get('/usage', { signal })]);
    return { tokens: tokens.toReversed(), usage };
  }, []);
  const isMaking = useDraft('new token', false);
  const reload = () => void load.reload();
  return (
    <>
      <Loaded load={load}>
        {({ tokens, usage: { used, limits } }) =>
          tokens.length === 0 ? (
            <Empty
              icon="key"
              title="No API tokens yet"
              action={<NewButton isFirst onPress={() => (isMaking.value = true)} />}
            >
              Scripts, Terraform and dashboards authenticate with a token. See the <ApiLink />.
            </Empty>
          ) : (
            <Section
              title="API tokens"
              lead={
                <>
                  For scripts and tools that call the <ApiLink />.{' '}
                  {limits.tokens === null ? `${used.tokens} in use.` : `${used.tokens} of ${limits.tokens} in use.`}
                </>
              }
              actions={<NewButton onPress={() => (isMaking.value = true)} />}
            >
              <Table caption="API tokens" columns={columnsOf(reload)} rows={tokens} keyOf={({ id }) => id} />
              <p class="mt-2 text-xs text-soft">Revoked and expired tokens are listed for 30 days.</p>
            </Section>
          )
        }
      </Loaded>
      {isMaking.value && <NewToken onMade={reload} onClose={() => (isMaking.value = false)} />}
    </>
  );
}

function columnsOf(reload: () => void): Column<Token>[] {
  return [
    { head: 'Name', cell: (token) => <Name token={token} /> },
    { head: 'Scope', cell: ({ scopes }) => scopeWords(scopes), wideOnly: true },
    {
      head: 'Last used',
      cell: ({ last_used_at: at }) => (at === null ? 'never' : <Moment at={at} />),
      class: 'whitespace-nowrap text-soft',
    },
    {
      head: 'Created',
      cell: ({ created_at: at }) => <Moment at={at} />,
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    {
      head: 'Expires',
      cell: ({ expires_at: at }) => (at === null ? 'never' : <Deadline at={at} />),
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    { head: 'Status', cell: (token) => <State token={token} reload={reload} />, isAction: true },
  ];
}

function Name({ token: { name, scopes } }: { token: Token }) {
  return (
    <div class="min-w-0">
      <LongText text={name} />
      <div class="text-xs text-soft @3xl:hidden">{scopeWords(scopes)}</div>
    </div>
  );
}

function State({ token, reload }: { token: Token; reload: () => void }) {
  if (token.revoked_at !== null) return <Badge>Revoked</Badge>;
  if (token.expires_at !== null && token.expires_at <= clock.value) return <Badge>Expired</Badge>;
  return <Revoke token={token} reload={reload} />;
}

function Revoke({ token: { id, name }, reload }: { token: Token; reload: () => void }) {
  const action = useAction();
  const revoke = async () => {
    if (
      !(await confirm({
        title: `Revoke ${name}?`,
        text: 'Requests with this token fail immediately. This can’t be undone.',
        action: 'Revoke token',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/tokens/{id}', { path: { id } });
      toast(`${name} revoked`);
      reload();
    });
  };
  return (
    <Button
      size="small"
      tone="danger"
      aria-label={`Revoke ${name}`}
      busy={action.isBusy.value}
      onClick={() => void revoke()}
      class="-my-1.5"
    >
      Revoke
    </Button>
  );
}

function NewButton({ isFirst = false, onPress }: { isFirst?: boolean; onPress: () => void }) {
  return (
    <Button tone="primary" size={isFirst ? 'normal' : 'small'} icon="plus" onClick={onPress}>
      New token
    </Button>
  );
}

function ApiLink() {
  return (
    <a href="/docs" class="underline underline-offset-2 hover:text-ink">
      API reference
    </a>
  );
}

function scopeWords(scopes: Token['scopes']): string {
  if (scopes.includes('wall')) return 'wallboard';
  return scopes.includes('write') ? 'read and write' : 'read';
}

const SCOPES = [
  { value: 'read', label: 'Read' },
  { value: 'write', label: 'Read and write' },
] as const;

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
] as const;

const TOKEN_TEXTS = {
  name: 'Use 1 to 255 characters',
  scopes: 'Choose what it may do',
  expires_at: 'Choose a time to come',
} as const;

/** A dialog that creates a token and shows it once. */
function NewToken({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const name = useDraft('new token name', '');
  const scope = useDraft('new token scope', 'read');
  const expiry = useDraft('new token expiry', '');
  const made = useSignal<string | null>(null);
  const form = useJudgedForm(TOKEN_TEXTS);
  const make = () =>
    form.submit({ name: required(name.value.trim(), 'Enter a name') }, async () => {
      const days = Number(expiry.value);
      const { token } = await api.post('/tokens', {
        creates: 'token',
        body: {
          name: name.value.trim(),
          scopes: scope.value === 'write' ? ['read', 'write'] : ['read'],
          ...(days > 0 && { expires_at: serviceSeconds() + days * DAY_SECONDS }),
        },
      });
      made.value = token;
      // Nothing is left to restore.
      [name.value, scope.value, expiry.value] = ['', 'read', ''];
      onMade();
    });
  if (made.value !== null) {
    return (
      <ShownOnceDialog
        key="made"
        title="API token created"
        question="Saved the token?"
        text="It is shown only once. If you lose it, revoke it and create another."
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
      action="Create token"
      isBusy={form.isBusy.value}
      error={form.rest}
      onSubmit={() => void make()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Where it is used, such as Terraform."
        required
        autofocus
        maxLength={255}
        value={name.value}
        error={form.problem('name')}
        onValue={(value) => (name.value = value)}
      />
      <SelectField
        label="Scope"
        hint="Write covers monitors and channels. Neither scope covers members or tokens."
        options={SCOPES}
        value={scope.value}
        error={form.problem('scopes')}
        onValue={(value) => (scope.value = value)}
      />
      <SelectField
        label="Expires"
        options={EXPIRIES}
        value={expiry.value}
        error={form.problem('expires_at')}
        onValue={(value) => (expiry.value = value)}
      />
    </FormDialog>
  );
}

function Made({ token }: { token: string }) {
  return (
    <div class="grid grid-cols-1 gap-4 text-sm">
      <p>Copy it now. It is shown only once.</p>
      <CopyText text={token} label="API token" />
      <div>
        <div class="mb-1 text-soft">Example request:</div>
        <CopyText
          text={`curl -H 'Authorization: Bearer ${token}' ${INSTALLATION_URL}/v1/monitors`}
          label="Command to list monitors"
        />
      </div>
    </div>
  );
}
