import { useSignal } from '@preact/signals';
import { sentenceOf } from '../../client/answer.ts';
import type { Schemas } from '../../client/api.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import { FormError } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { FailedLoad, Placeholder } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { StatusMark, VERDICTS, VerdictMark } from '../../parts/status.tsx';
import { Moment, TimesIn, formatDateTime, formatExact, formatMs } from '../../parts/time.tsx';
import { setQuery } from '../../shell/router.ts';
import { CheckDetails } from './check-details.tsx';
import { CsvLink, TimeFilter, keyOf, type CheckChoice, type CheckList } from './check-log.tsx';
import { nameOf } from './lines.tsx';
import { hasLocations, reasonOf } from './status-words.ts';

type Check = Schemas['Check'];
type RowProps = {
  check: Check;
  monitor: Schemas['Monitor'];
  isOpen: boolean;
  onToggle: () => void;
};

const PINGS: Readonly<Record<string, string>> = {
  success: 'Finished',
  start: 'Started',
  fail: 'Reported a failure',
  exit: 'Finished',
};

/** One check as a line that unfolds into its details. */
function CheckRow({ check, monitor, isOpen, onToggle }: RowProps) {
  const detailsId = `check-${check.at}-${check.source.id ?? ''}`;
  return (
    <li class="border-b border-line last:border-0">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={detailsId}
        onClick={onToggle}
        class="
          flex w-full items-center gap-3 px-3 py-2 text-left text-sm hover:bg-hover focus-visible:-outline-offset-2
          md:px-4
        "
      >
        {check.ping === 'start' ? (
          <StatusMark status="pending" silent class="size-3" />
        ) : (
          <VerdictMark verdict={check.verdict} class="size-3" />
        )}
        <span class="flex min-w-0 flex-1 flex-col-reverse md:flex-row md:gap-4">
          <span class="flex shrink-0 gap-2 whitespace-nowrap text-soft max-md:text-xs md:gap-4">
            <span class="md:w-36">{formatExact(check.at)}</span>
            {hasLocations(monitor) && <span class="clipped md:w-28">{nameOf(check.source)}</span>}
          </span>
          <span class="clipped block min-w-0 md:flex-1">{summarize(check)}</span>
        </span>
        <span class="shrink-0 text-right">{check.latency_ms === null ? '' : formatMs(check.latency_ms)}</span>
        <Icon name="chevron" class={`size-4 text-soft transition-transform ${isOpen ? 'rotate-90' : ''}`} />
      </button>
      {isOpen && (
        <div id={detailsId} class="border-t border-line bg-sunken px-3 py-3 md:px-4">
          <p class="mb-2 text-xs text-soft">
            {check.ping === 'start' ? 'Started' : VERDICTS[check.verdict]} <Moment at={Math.floor(check.at)} />,{' '}
            {formatDateTime(check.at)}
          </p>
          <CheckDetails check={check} monitorId={monitor.id} />
        </div>
      )}
    </li>
  );
}

/** Summarizes a check in a few words; a ping shows the text that the job wrote. */
function summarize(check: Check): string {
  const { ping = null, exit_status: exitStatus = null } = check;
  if (ping !== null) {
    const word = PINGS[ping] ?? ping;
    const ended = exitStatus === null ? word : `${word} with exit status ${exitStatus}`;
    return check.reason === null ? ended : `${ended}: ${check.reason}`;
  }
  if (check.reason !== null || check.http_status === null) return reasonOf(check) ?? VERDICTS[check.verdict];
  return `HTTP ${check.http_status}`;
}

type ChecksProps = {
  monitor: Schemas['Monitor'];
  list: CheckList;
  choice: CheckChoice;
  agents: readonly Schemas['Agent'][];
  sourceIds: readonly string[];
};

/** The list of checks, newest first. */
export function Checks({ monitor, list, choice, agents, sourceIds }: ChecksProps) {
  const isBeat = monitor.type === 'heartbeat';
  return (
    <Section
      title={isBeat ? 'Pings' : 'Checks'}
      lead={<TimesIn />}
      actions={<Filters monitorId={monitor.id} choice={choice} agents={agents} sourceIds={sourceIds} />}
    >
      <TimeFilter span={choice.span} />
      <List monitor={monitor} list={list} choice={choice} />
    </Section>
  );
}

type FiltersProps = Pick<ChecksProps, 'choice' | 'agents' | 'sourceIds'> & { monitorId: string };

function Filters({ monitorId, choice, agents, sourceIds }: FiltersProps) {
  return (
    <div class="flex flex-wrap gap-2">
      <Select
        label="Verdict"
        value={choice.verdict}
        options={[
          { value: '', label: 'All results' },
          ...Object.entries(VERDICTS).map(([value, label]) => ({ value, label })),
        ]}
        onValue={(verdict) => setQuery({ verdict })}
      />
      {sourceIds.length > 1 && (
        <Select
          label="Location"
          value={choice.source}
          options={[
            { value: '', label: 'All locations' },
            ...sourceIds.map((id) => ({ value: id, label: agents.find((agent) => agent.id === id)?.name ?? id })),
          ]}
          onValue={(source) =>
            setQuery({
              source,
              ...(new URLSearchParams(window.location.search).get('view') === 'locations' && { view: '' }),
            })
          }
        />
      )}
      <CsvLink id={monitorId} choice={choice} />
    </div>
  );
}

function List({ monitor, list, choice }: Pick<ChecksProps, 'monitor' | 'list' | 'choice'>) {
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
              isOpen={open.value.has(key)}
              onToggle={() => toggle(key)}
            />
          );
        })}
      </ul>
      {error.value !== null && (
        <div class="mt-3">
          <FormError text={sentenceOf(error.value)} />
        </div>
      )}
      {hasOlder.value && (
        <div class="mt-3 flex justify-center">
          <Button busy={isBusy.value} onClick={() => void loadOlder()}>
            Load more
          </Button>
        </div>
      )}
    </>
  );
}

function emptyText({ type, status }: Schemas['Monitor'], { verdict, source, span }: CheckChoice): string {
  if (verdict !== '' || source !== '' || span !== null) return 'No checks match your filters.';
  if (status === 'paused') return 'No checks: the monitor is paused.';
  return type === 'heartbeat' ? 'Waiting for the first ping.' : 'Waiting for the first check.';
}
