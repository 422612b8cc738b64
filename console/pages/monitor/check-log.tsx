import { ButtonLink, IconButton } from '../../parts/button.tsx';
import { Field, inputClass } from '../../parts/field.tsx';
import { timeZone } from '../../parts/time.tsx';
import { fromWallTime, toWallTime } from '../../parts/wall-time.ts';
import { setQuery } from '../../shell/router.ts';
import type { CheckChoice } from './use-checks.ts';

/** The latest moment that the API takes, in Unix seconds; a span without an end reaches to it. */
const LATEST = 99_999_999_999;

/** The time filter as the address stores it: `since` and `until` in Unix seconds, both optional; null = all. */
export function readTimes({ since = '', until = '' }: Readonly<Record<string, string>>): CheckChoice['span'] {
  const [from, to] = [readSecond(since), readSecond(until)];
  return from === null && to === null ? null : { from: from ?? 0, to: to ?? LATEST };
}

/** The fields that narrow the list to a time, in the zone of the user; a moment picked in a chart fills them. */
export function TimeFilter({ span }: { span: CheckChoice['span'] }) {
  const from = span === null || span.from === 0 ? null : span.from;
  const to = span === null || span.to === LATEST ? null : span.to;
  const isReversed = from !== null && to !== null && to <= from;
  const change = (times: { from?: number | null; to?: number | null }) => {
    const chosen = { from, to, ...times };
    setQuery({ at: '', since: textOf(chosen.from), until: textOf(chosen.to) });
  };
  return (
    <div class="mb-3 flex flex-wrap items-end gap-2">
      <TimeField label="From" at={from} onAt={(at) => change({ from: at })} />
      <TimeField
        label="To"
        at={to}
        onAt={(at) => change({ to: at })}
        error={isReversed ? 'Must be after From' : null}
      />
      {span !== null && (
        <IconButton icon="close" label="Clear time" onClick={() => setQuery({ at: '', since: '', until: '' })} />
      )}
    </div>
  );
}

type TimeFieldProps = { label: string; at: number | null; onAt: (at: number | null) => void; error?: string | null };

function TimeField({ label, at, onAt, error = null }: TimeFieldProps) {
  return (
    <Field label={label} error={error} class="min-w-0 grow basis-48 text-xs sm:grow-0">
      {(input) => (
        <input
          {...input}
          type="datetime-local"
          step="1"
          value={at === null ? '' : toWallTime(at, timeZone.value)}
          onChange={({ currentTarget: { value } }) => onAt(fromWallTime(value, timeZone.value))}
          class={`${inputClass(input)} h-8`}
        />
      )}
    </Field>
  );
}

/** A link to the checks that match, as a file for spreadsheets. */
export function CsvLink({ id, choice: { verdict, source, span } }: { id: string; choice: CheckChoice }) {
  const query = new URLSearchParams({
    format: 'csv',
    ...(verdict !== '' && { verdict }),
    ...(source !== '' && { source }),
    ...(span !== null && { since: String(span.from), until: String(span.to - 1) }),
  });
  return (
    <ButtonLink size="small" href={`/v1/monitors/${encodeURIComponent(id)}/checks?${query.toString()}`} download="">
      CSV
    </ButtonLink>
  );
}

function readSecond(text: string): number | null {
  const second = Number(text);
  return text !== '' && Number.isSafeInteger(second) && second > 0 && second <= LATEST ? second : null;
}

function textOf(second: number | null): string {
  return second === null ? '' : String(second);
}
