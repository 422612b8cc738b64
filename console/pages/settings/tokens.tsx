import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { clock, Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { NewToken } from './new-token.tsx';

type Token = Schemas['ApiToken'];

/** The API tokens of the account. */
export function TokenSettings() {
  const load = useLoad(async (signal) => {
    const [{ tokens }, usage] = await Promise.all([api.get('/tokens', { signal }), api.get('/usage', { signal })]);
    return { tokens: tokens.toReversed(), usage };
  }, []);
  const isMaking = useSignal(false);
  const reload = () => void load.reload();
  return (
    <>
      <Loaded load={load}>
        {({ tokens, usage: { used, limits } }) =>
          tokens.length === 0 ? (
            <Empty
              icon="key"
              title="No token yet"
              action={<NewButton isFirst onPress={() => (isMaking.value = true)} />}
            >
              Programs call the API with a token: scripts, Terraform, your own dashboard.
              {' What they can do stands in the '}
              <ApiLink />.
            </Empty>
          ) : (
            <Section
              title="API tokens"
              lead={
                <>
                  For programs that call the <ApiLink />.{' '}
                  {limits.tokens === null ? `${used.tokens} in use.` : `${used.tokens} of ${limits.tokens} in use.`}
                </>
              }
              actions={<NewButton onPress={() => (isMaking.value = true)} />}
            >
              <Table caption="API tokens" columns={columnsOf(reload)} rows={tokens} keyOf={({ id }) => id} />
              <p class="mt-2 text-xs text-soft">Tokens that were revoked or expired stay in this list for 30 days.</p>
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
    { head: 'May', cell: ({ scopes }) => scopeWords(scopes), wideOnly: true },
    {
      head: 'Last used',
      cell: ({ last_used_at: at }) => (at === null ? 'never' : <Moment at={at} />),
      class: 'whitespace-nowrap text-soft',
    },
    {
      head: 'Made',
      cell: ({ created_at: at }) => <Moment at={at} />,
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    {
      head: 'Expires',
      cell: ({ expires_at: at }) => (at === null ? 'never' : <Moment at={at} />),
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    { head: 'State', cell: (token) => <State token={token} reload={reload} />, align: 'right' },
  ];
}

function Name({ token: { name, scopes } }: { token: Token }) {
  return (
    <div class="min-w-0">
      <div class="break-words">{name}</div>
      <div class="text-xs text-soft md:hidden">{scopeWords(scopes)}</div>
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
        text: 'Programs that use it are refused from this moment on. That cannot be taken back.',
        action: 'Revoke token',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/tokens/{id}', { path: { id } });
      toast(`${name} is revoked`);
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
      API
    </a>
  );
}

function scopeWords(scopes: Token['scopes']): string {
  return scopes.includes('write') ? 'read and write' : 'read';
}
