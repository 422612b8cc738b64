import { api } from '../../client/api.ts';
import { sentenceOf } from '../../client/failure.ts';
import { usePoll } from '../../client/reload.ts';
import { canWrite } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useFormAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FormError } from '../../parts/field.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Badge } from '../../parts/status.tsx';
import { formatDateTime, formatLatency, Moment } from '../../parts/time.tsx';
import { EVENTS, OutcomeBadge, type Channel } from './words.tsx';

type Delivery = Schemas['DeliveryDetail'];
type Attempt = Schemas['DeliveryAttempt'];

const POLL_MS = 2000;

const ENDS: Record<NonNullable<Attempt['outcome']>, { label: string; tone: 'good' | 'warning' | 'bad' }> = {
  delivered: { label: 'Delivered', tone: 'good' },
  retry: { label: 'To be tried again', tone: 'warning' },
  failed: { label: 'Failed', tone: 'bad' },
};

type DialogProps = { id: string; channel: Channel; onClose: () => void; onChanged: () => Promise<void> };

/** A dialog with one delivery: its attempts, its message, and a button to send it again. */
export function DeliveryDialog({ id, channel, onClose, onChanged }: DialogProps) {
  const load = useLoad((signal) => api.get('/deliveries/{id}', { path: { id }, signal }), [id]);
  const formAction = useFormAction();
  const { value: delivery } = load.value;
  const isPending = delivery?.outcome === 'pending';
  usePoll(load, isPending, POLL_MS);
  const redeliver = () =>
    formAction.run(async () => {
      await api.post('/deliveries/{id}/redeliver', { path: { id } });
      await Promise.all([load.reload(), onChanged()]);
    });
  const canSend = canWrite() && delivery !== null && channel.enabled && channel.status === 'connected';
  return (
    <Dialog
      title={delivery === null ? 'Delivery' : EVENTS[delivery.event]}
      wide
      onClose={onClose}
      actions={
        <>
          {canSend && (
            <Button icon="retry" busy={formAction.isBusy.value} disabled={isPending} onClick={() => void redeliver()}>
              Send again
            </Button>
          )}
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <Loaded load={load} height="h-40">
        {(loaded) => <Shown delivery={loaded} />}
      </Loaded>
      {/* A dialog would cover a toast. */}
      {formAction.error.value !== null && (
        <div class="mt-4">
          <FormError text={sentenceOf(formAction.error.value)} />
        </div>
      )}
    </Dialog>
  );
}

function Shown({ delivery }: { delivery: Delivery }) {
  const { attempts, next_attempt_at: next, outcome, message } = delivery;
  return (
    <div class="flex flex-col gap-5 text-sm">
      <p class="flex flex-wrap items-center gap-x-3 gap-y-1" role="status">
        <OutcomeBadge outcome={outcome} />
        <span class="text-soft">made {formatDateTime(delivery.created_at)}</span>
        {next !== null && (
          <span class="text-soft">
            next attempt <Moment at={next} />
          </span>
        )}
      </p>
      <section aria-label="Attempts">
        <h3 class="heading mb-1.5 text-sm">{attempts.length === 1 ? 'One attempt' : `${attempts.length} attempts`}</h3>
        <ol class="divide-y divide-line rounded-lg border border-line empty:hidden">
          {attempts.map((attempt) => (
            <AttemptShown key={attempt.attempt} attempt={attempt} />
          ))}
        </ol>
      </section>
      <details>
        <summary class="heading text-sm">What is sent</summary>
        <pre
          tabIndex={0}
          aria-label="The message"
          class="mt-2 max-h-72 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs"
        >
          {JSON.stringify(message, null, 2)}
        </pre>
        <p class="mt-1 font-mono text-xs text-soft">{delivery.id}</p>
      </details>
    </div>
  );
}

function AttemptShown({ attempt }: { attempt: Attempt }) {
  const { outcome, status_code: status, error, response, duration_ms: duration } = attempt;
  const { label, tone } = outcome === null ? { label: 'Not ended', tone: 'plain' as const } : ENDS[outcome];
  return (
    <li class="px-3 py-2">
      <p class="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <span class="w-5 text-right text-xs text-soft">{attempt.attempt}</span>
        <Badge tone={tone}>{label}</Badge>
        {status !== null && <span class="font-mono text-xs">HTTP {status}</span>}
        {duration !== null && <span class="text-xs text-soft">{formatLatency(duration)}</span>}
        <time class="ml-auto text-xs text-soft" dateTime={new Date(attempt.started_at * 1000).toISOString()}>
          {formatDateTime(attempt.started_at)}
        </time>
      </p>
      {error !== null && <p class="mt-1 break-words pl-7.5 text-[0.8125rem]">{error}</p>}
      {response !== null && response !== '' && (
        <pre
          tabIndex={0}
          aria-label={`The answer to attempt ${attempt.attempt}`}
          class="
            ml-7.5 mt-1 max-h-32 overflow-auto whitespace-pre-wrap break-words rounded bg-sunken p-2 font-mono text-xs
          "
        >
          {response}
        </pre>
      )}
    </li>
  );
}
