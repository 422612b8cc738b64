import { useSignal } from '@preact/signals';
import type { Schemas } from '../../client/api.ts';
import { Button } from '../../parts/button.tsx';
import { FailedLoad, Placeholder } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { labelStep } from '../../plots/time-labels.ts';
import { setQuery } from '../../shell/router.ts';
import { CheckRow } from './check-row.tsx';
import { keyOf, type CheckChoice, type CheckList } from './use-checks.ts';
import { VERDICTS } from './verdict-mark.tsx';

type ChecksProps = {
  monitor: Schemas['Monitor'];
  list: CheckList;
  choice: CheckChoice;
  agents: readonly Schemas['Agent'][];
  sourceIds: readonly string[];
  incidents: readonly Schemas['Incident'][];
};

/** The single results, newest first, each with what was seen. */
export function Checks({ monitor, list, choice, agents, sourceIds, incidents }: ChecksProps) {
  const isBeat = monitor.type === 'heartbeat';
  return (
    <Section
      title={isBeat ? 'Pings' : 'Checks'}
      lead={leadOf(choice)}
      actions={<Filters choice={choice} agents={agents} sourceIds={sourceIds} />}
    >
      <List monitor={monitor} list={list} choice={choice} incidents={incidents} />
    </Section>
  );
}

function leadOf({ span }: CheckChoice) {
  if (span === null) return undefined;
  return (
    <span class="inline-flex items-center gap-1">
      Of {labelStep(span.from, span.to - span.from)}
      <button
        type="button"
        class="rounded px-1 underline underline-offset-2 hover:text-ink"
        onClick={() => setQuery({ at: '' })}
      >
        show the newest
      </button>
    </span>
  );
}

function Filters({ choice, agents, sourceIds }: Pick<ChecksProps, 'choice' | 'agents' | 'sourceIds'>) {
  const selectClass = 'h-8 max-w-36 rounded-md border border-line-strong/60 bg-surface px-1.5 text-[0.8125rem]';
  return (
    <div class="flex gap-2">
      <select
        aria-label="Verdict"
        value={choice.verdict}
        class={selectClass}
        onChange={({ currentTarget: { value } }) => setQuery({ verdict: value })}
      >
        <option value="">All results</option>
        {Object.entries(VERDICTS).map(([verdict, label]) => (
          <option key={verdict} value={verdict}>
            {label}
          </option>
        ))}
      </select>
      {sourceIds.length > 1 && (
        <select
          aria-label="Location"
          value={choice.source}
          class={selectClass}
          onChange={({ currentTarget: { value } }) =>
            setQuery({
              source: value,
              ...(new URLSearchParams(window.location.search).get('view') === 'locations' && { view: '' }),
            })
          }
        >
          <option value="">All locations</option>
          {sourceIds.map((id) => (
            <option key={id} value={id}>
              {agents.find((agent) => agent.id === id)?.name ?? id}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

function List({ monitor, list, choice, incidents }: Pick<ChecksProps, 'monitor' | 'list' | 'choice' | 'incidents'>) {
  const open = useSignal<ReadonlySet<string>>(new Set());
  const { checks, error, hasOlder, isBusy, refresh, loadOlder } = list;
  if (checks.value === null)
    return error.value === null ? (
      <Placeholder class="h-80" />
    ) : (
      <FailedLoad error={error.value} onRetry={() => void refresh()} />
    );
  if (checks.value.length === 0)
    return (
      <p class="rounded-xl border border-line bg-surface px-4 py-5 text-sm text-soft">{emptyText(monitor, choice)}</p>
    );
  const toggle = (key: string) => {
    open.value = open.value.has(key)
      ? new Set([...open.value].filter((each) => each !== key))
      : new Set([...open.value, key]);
  };
  return (
    <>
      <ul class="overflow-hidden rounded-xl border border-line bg-surface">
        {checks.value.map((check) => {
          const key = keyOf(check);
          return (
            <CheckRow
              key={key}
              check={check}
              monitor={monitor}
              incidents={incidents}
              isOpen={open.value.has(key)}
              onToggle={() => toggle(key)}
            />
          );
        })}
      </ul>
      {hasOlder.value && (
        <div class="mt-3 flex justify-center">
          <Button busy={isBusy.value} onClick={() => void loadOlder()}>
            Show older ones
          </Button>
        </div>
      )}
    </>
  );
}

function emptyText({ type, status }: Schemas['Monitor'], { verdict, source, span }: CheckChoice): string {
  if (verdict !== '' || source !== '' || span !== null) return 'None is like that.';
  if (status === 'paused') return 'There are none: it is paused.';
  return type === 'heartbeat' ? 'No ping has come yet.' : 'None yet: the first ones are on their way.';
}
