import type { Schemas } from '../../client/api.ts';
import { Badge } from '../../parts/badge.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { formatDateTime, formatLatency } from '../../parts/time.tsx';
import { Phases } from './phases.tsx';

type Seen = Schemas['IncidentEvidence'];
type Answer = Schemas['SeenAnswer'];

const WITHHELD: Record<NonNullable<Answer['body_withheld']>, string> = {
  secrets: 'The body is not kept: this check carries secrets, and servers echo them.',
  not_text: 'The body is not kept: it is no text.',
};

/** What each place saw at its first failure. */
export function Evidence({ evidence }: { evidence: readonly Seen[] }) {
  if (evidence.length === 0) return <p class="text-sm text-soft">Nothing was kept of what checks saw.</p>;
  return (
    <div class="flex flex-col gap-3">
      {evidence.map((seen) => (
        <Place key={`${seen.source.id} ${seen.at} ${seen.verdict}`} seen={seen} />
      ))}
    </div>
  );
}

function Place({ seen }: { seen: Seen }) {
  const { source, verdict, reason, cause, at, latency_ms: latency, phases, answer } = seen;
  const status = answer?.status ?? seen.http_status;
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
      {phases !== null && <Phases phases={phases} />}
      {phases === null && latency !== null && <p class="mt-1.5 text-sm text-soft">After {formatLatency(latency)}</p>}
      {answer !== null && <AnswerShown answer={answer} />}
    </article>
  );
}

function AnswerShown({ answer }: { answer: Answer }) {
  const headers = Object.entries(answer.headers);
  return (
    <div class="mt-3 border-t border-line pt-3">
      {headers.length > 0 && (
        <details class="text-sm">
          <summary class="text-[0.8125rem] text-soft hover:text-ink">{headers.length === 1 ? 'One header' : `${headers.length} headers`}</summary>
          <dl class="mt-1.5 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 font-mono text-xs">
            {headers.map(([name, value]) => (
              <div key={name} class="contents">
                <dt class="text-soft">{name}</dt>
                <dd class="break-all">{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      {answer.body_withheld !== null && <p class="mt-1.5 text-[0.8125rem] text-soft">{WITHHELD[answer.body_withheld]}</p>}
      {answer.body !== null && answer.body !== '' && (
        <pre tabIndex={0} aria-label="The start of the body" class="mt-2 max-h-56 overflow-auto whitespace-pre-wrap break-words rounded-md bg-sunken p-3 font-mono text-xs">
          {answer.body}
        </pre>
      )}
      {answer.body === '' && <p class="mt-1.5 text-[0.8125rem] text-soft">The body was empty.</p>}
    </div>
  );
}
