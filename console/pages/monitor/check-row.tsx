import type { Schemas } from '../../client/api.ts';
import { Icon } from '../../parts/icon.tsx';
import { Moment } from '../../parts/time.tsx';
import { formatMs } from '../../plots/milliseconds.ts';
import { labelMoment } from '../../plots/time-labels.ts';
import { CheckDetails } from './check-details.tsx';
import { nameOf } from './lines.ts';
import { hasLocations, sentence } from './status-words.ts';
import { VerdictMark, VERDICTS } from './verdict-mark.tsx';

type Check = Schemas['Check'];
type RowProps = {
  check: Check;
  monitor: Schemas['Monitor'];
  incidents: readonly Schemas['Incident'][];
  isOpen: boolean;
  onToggle: () => void;
};

const PINGS: Readonly<Record<string, string>> = {
  success: 'Done',
  start: 'Started',
  fail: 'Reported a failure',
  exit: 'Ended',
};

/** One result in a line; opened, everything that is known of it. */
export function CheckRow({ check, monitor, incidents, isOpen, onToggle }: RowProps) {
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
        <VerdictMark verdict={check.verdict} class="size-3" />
        <span class="flex min-w-0 flex-1 flex-col-reverse md:flex-row md:gap-4">
          <span class="flex shrink-0 gap-2 whitespace-nowrap text-soft max-md:text-xs md:gap-4">
            <span class="md:w-32">{labelMoment(check.at)}</span>
            {hasLocations(monitor) && <span class="clipped md:w-28">{nameOf(check.source)}</span>}
          </span>
          <span class="clipped block min-w-0 md:flex-1">{summarise(check)}</span>
        </span>
        <span class="shrink-0 text-right">{check.latency_ms === null ? '' : formatMs(check.latency_ms)}</span>
        <Icon name="chevron" class={`size-4 text-soft transition-transform ${isOpen ? 'rotate-90' : ''}`} />
      </button>
      {isOpen && (
        <div id={detailsId} class="border-t border-line bg-sunken px-3 py-3 md:px-4">
          <p class="mb-2 text-xs text-soft">
            {VERDICTS[check.verdict]}, <Moment at={Math.floor(check.at)} /> ({new Date(check.at * 1000).toISOString()})
          </p>
          <CheckDetails check={check} incidents={incidents} />
        </div>
      )}
    </li>
  );
}

/** What there is to say of it in a few words. */
function summarise(check: Check): string {
  if (check.ping !== undefined && check.ping !== null) {
    const word = PINGS[check.ping] ?? check.ping;
    return check.exit_status === undefined || check.exit_status === null
      ? word
      : `${word} with exit status ${check.exit_status}`;
  }
  if (check.reason !== null) return sentence(check.reason);
  return check.http_status === null ? VERDICTS[check.verdict] : `HTTP ${check.http_status}`;
}
