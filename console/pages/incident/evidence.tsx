import type { Schemas } from '../../client/api.ts';
import { Badge } from '../../parts/badge.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { formatDateTime, formatLatency } from '../../parts/time.tsx';
import { hasTimings, TimingBar, sumTimings } from '../../plots/timing-bar.tsx';
import { AnswerEvidence } from '../monitor/answer-evidence.tsx';

type Entry = Schemas['IncidentEvidence'];

/** What each location saw at its first failure. */
export function Evidence({ evidence }: { evidence: readonly Entry[] }) {
  if (evidence.length === 0) return <p class="text-sm text-soft">No evidence was stored.</p>;
  return (
    <div class="flex flex-col gap-3">
      {evidence.map((entry) => (
        <SourceEvidence key={`${entry.source.id} ${entry.at} ${entry.verdict}`} entry={entry} />
      ))}
    </div>
  );
}

function SourceEvidence({ entry }: { entry: Entry }) {
  const { source, verdict, reason, cause, at, latency_ms: latency, phases, answer } = entry;
  const status = answer?.status ?? entry.http_status;
  return (
    <article class="rounded-xl border border-line bg-surface p-4">
      <header class="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 class="flex items-center gap-2 text-sm font-semibold">
          <StatusMark status={verdict} class="size-3" />
          {source.name}
        </h3>
        {status !== null && <Badge tone={status >= 400 ? 'bad' : 'plain'}>{`HTTP ${status}`}</Badge>}
        {cause !== null && <code class="font-mono text-xs text-soft">{cause}</code>}
        <time class="ml-auto text-xs text-soft" dateTime={new Date(at * 1000).toISOString()}>
          {formatDateTime(at)}
        </time>
      </header>
      {reason !== null && <p class="mt-1.5 break-words text-sm">{reason}</p>}
      {hasTimings(phases) && (
        <div class="mt-3">
          <TimingBar timings={phases} fullMs={sumTimings(phases)} label="Timings of this check" />
        </div>
      )}
      {!hasTimings(phases) && latency !== null && (
        <p class="mt-1.5 text-sm text-soft">After {formatLatency(latency)}</p>
      )}
      {answer !== null && (
        <div class="mt-3">
          <AnswerEvidence answer={answer} />
        </div>
      )}
    </article>
  );
}
