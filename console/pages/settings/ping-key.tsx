import { api } from '../../client/api.ts';
import { canWrite } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Loaded, type Load } from '../../parts/load.tsx';
import { Card, Empty, Section } from '../../parts/page.tsx';
import { CreatingCommand, usePingKey } from '../../parts/ping-key.tsx';
import { Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';

type Answer = Schemas['PingKeyRead'];

/** The key of the account by which jobs ping heartbeats by their slugs, and create them. */
export function PingKeySettings() {
  const load = usePingKey();
  return <Loaded load={load}>{(answer) => <Shown answer={answer} load={load} />}</Loaded>;
}

function Shown({ answer: { ping_key: found }, load }: { answer: Answer; load: Load<Answer> }) {
  if (found === null)
    return (
      <Empty icon="key" title="No ping key yet" action={canWrite() && <Replace load={load} />}>
        With a ping key, a job’s first ping creates its heartbeat monitor.
      </Empty>
    );
  return (
    <Section
      title="Ping key"
      lead={
        <>
          Created <Moment at={found.created_at} />. Keep it private: anyone who has it can ping and create heartbeats,
          and nothing else.
        </>
      }
      actions={
        canWrite() && (
          <div class="flex flex-wrap gap-2">
            <Replace load={load} isFirst={false} />
            <Remove load={load} />
          </div>
        )
      }
    >
      <Card>
        {found.key === undefined ? (
          <p class="text-sm text-soft">Only editors and owners can see the ping key.</p>
        ) : (
          <div class="grid grid-cols-1 gap-3">
            <CopyText text={found.key} label="Ping key" />
            <CreatingCommand pingKey={found.key} />
          </div>
        )}
      </Card>
    </Section>
  );
}

function Replace({ load, isFirst = true }: { load: Load<Answer>; isFirst?: boolean }) {
  const action = useAction();
  const replace = async () => {
    const text = 'Pings with the current key are rejected immediately. Heartbeats are kept.';
    if (!isFirst && !(await confirm({ title: 'Replace the ping key?', text, action: 'Replace key' }))) return;
    await action.run(async () => {
      await api.post('/ping-key');
      await load.reload();
      toast(isFirst ? 'Ping key created' : 'Ping key replaced');
    });
  };
  return (
    <Button
      {...(isFirst ? { tone: 'primary', icon: 'plus' } : { size: 'small', icon: 'key' })}
      busy={action.isBusy.value}
      onClick={() => void replace()}
    >
      {isFirst ? 'Create ping key' : 'Replace'}
    </Button>
  );
}

function Remove({ load }: { load: Load<Answer> }) {
  const action = useAction();
  const remove = async () => {
    const text =
      'Pings with this key are rejected immediately. Heartbeats are kept, and still accept pings at their own URLs.';
    if (!(await confirm({ title: 'Delete the ping key?', text, action: 'Delete key' }))) return;
    await action.run(async () => {
      await api.delete('/ping-key');
      toast('Ping key deleted');
      await load.reload();
    });
  };
  return (
    <Button size="small" tone="danger" icon="trash" busy={action.isBusy.value} onClick={() => void remove()}>
      Delete
    </Button>
  );
}
