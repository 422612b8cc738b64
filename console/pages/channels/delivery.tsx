import { sentenceOf } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { monitors, usePoll } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { useFormAction } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FormError } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Code, FactLine, JsonText } from '../../parts/object-page.tsx';
import { Badge } from '../../parts/status.tsx';
import { LongText } from '../../parts/table.tsx';
import { Deadline, formatDateTime, formatLatency } from '../../parts/time.tsx';
import { EVENTS, OutcomeBadge, describeOutcome, isHeld, isUnderWay, type Channel } from './words.tsx';

type Delivery = Schemas['DeliveryDetail'];
type Attempt = Schemas['DeliveryAttempt'];

/** Interval of reloads in milliseconds while a delivery is under way, and while it waits. */
const POLL_MS = { busy: 2000, quiet: 15_000 } as const;

const ENDS: Record<NonNullable<Attempt['outcome']>, { label: string; tone: 'good' | 'warning' | 'bad' }> = {
  delivered: { label: 'Delivered', tone: 'good' },
  retry: { label: 'Will retry', tone: 'warning' },
  failed: { label: 'Failed', tone: 'bad' },
};

type DialogProps = { id: string; channel: Channel; onClose: () => void; onChanged: () => Promise<void> };

/** A dialog with one delivery: its monitor, event and incident, its attempts and payload, and a button to redeliver. */
export function DeliveryDialog({ id, channel, onClose, onChanged }: DialogProps) {
  const load = useLoad((signal) => api.get('/deliveries/{id}', { path: { id }, signal }), [id]);
  const formAction = useFormAction();
  const { value: delivery } = load.value;
  const isPending = delivery?.outcome === 'pending';
  usePoll(load, isPending, delivery !== null && isUnderWay(delivery) ? POLL_MS.busy : POLL_MS.quiet);
  const redeliver = () =>
    formAction.run(async () => {
      await api.post('/deliveries/{id}/redeliver', { path: { id } });
      await Promise.all([load.reload(), onChanged()]);
    });
  const canSend =
    canWrite() &&
    delivery !== null &&
    delivery.drill_id === undefined &&
    channel.enabled &&
    channel.status === 'connected';
  return (
    <Dialog
      title={delivery === null ? 'Delivery' : titleOf(delivery)}
      wide
      onClose={onClose}
      actions={
        <>
          {canSend && (
            <Button icon="retry" busy={formAction.isBusy.value} disabled={isPending} onClick={() => void redeliver()}>
              Redeliver
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

/** Returns a title like `Down: Shop` or `Agent offline: home-lab`; the event alone without monitor and agent. */
function titleOf({ event, monitor_name: monitor, agent_name: agent, drill_id: drill }: Delivery): string {
  const name = monitor ?? agent;
  if (drill !== undefined) return `Drill: ${EVENTS[event]}: ${name ?? ''}`;
  return name === undefined ? EVENTS[event] : `${EVENTS[event]}: ${name}`;
}

function Shown({ delivery }: { delivery: Delivery }) {
  const { attempts, next_attempt_at: next, message, event, created_at: createdAt } = delivery;
  const { label, why } = describeOutcome(delivery);
  return (
    <div class="flex flex-col gap-5 text-sm">
      <p class="flex flex-wrap items-center gap-x-3 gap-y-1">
        <OutcomeBadge delivery={delivery} hidesAttempts />
        {next !== null && !isHeld(delivery) && (
          <span class="text-soft">
            next attempt <Deadline at={next} />
          </span>
        )}
        {/* Without the time of the next attempt, which changes every few seconds. */}
        <span class="sr-only" role="status">
          {[label, why].filter(Boolean).join(': ')}
        </span>
      </p>
      <dl class="grid gap-x-6 gap-y-1 md:grid-cols-[8rem_1fr]">
        {delivery.monitor_id !== null && (
          <FactLine name="Monitor">
            <MonitorName id={delivery.monitor_id} name={delivery.monitor_name} />
          </FactLine>
        )}
        {delivery.agent_id !== undefined && (
          <FactLine name="Agent">
            <AgentName delivery={delivery} />
          </FactLine>
        )}
        <FactLine name="Event">
          {delivery.drill_id === undefined ? EVENTS[event] : `${EVENTS[event]}, in a drill`}
        </FactLine>
        {delivery.incident_id !== undefined && (
          <FactLine name="Incident">
            <a href={`/incidents/${delivery.incident_id}`} class={LINK}>
              View incident
            </a>
          </FactLine>
        )}
        {delivery.held_by_monitor !== undefined && (
          <FactLine name="Parent">
            <MonitorName id={delivery.held_by_monitor} name="Deleted monitor" />
          </FactLine>
        )}
        <FactLine name="Created">{formatDateTime(createdAt)}</FactLine>
        <FactLine name="Delivery ID">
          <Code>{delivery.id}</Code>
        </FactLine>
      </dl>
      <section aria-label="Attempts">
        <h3 class="heading mb-1.5 text-sm">{count(attempts.length, 'attempt')}</h3>
        <ol class="divide-y divide-line rounded-lg border border-line empty:hidden">
          {attempts.map((attempt) => (
            <AttemptShown key={attempt.attempt} attempt={attempt} />
          ))}
        </ol>
      </section>
      <details>
        <summary class="heading text-sm">Payload</summary>
        <JsonText value={message} label="Payload" class="mt-2 max-h-72" />
      </details>
    </div>
  );
}

const LINK = 'relative underline underline-offset-2 hover:text-accent';

/** The subject of a delivery, in a table whose rows are links: its monitor with the incident, or its agent. */
export function DeliverySubject({ delivery }: { delivery: Schemas['Delivery'] }) {
  if (delivery.monitor_id === null) return <AgentName delivery={delivery} />;
  return (
    <>
      <MonitorName id={delivery.monitor_id} name={delivery.monitor_name} />
      {delivery.drill_id !== undefined && <Badge>Drill</Badge>}
      {delivery.incident_id !== undefined && (
        <a href={`/incidents/${delivery.incident_id}`} class={`${LINK} block w-fit text-xs text-soft`}>
          View incident
        </a>
      )}
    </>
  );
}

/** The monitor by its present name, as a link; by the name in the alert if it was deleted. */
function MonitorName({ id, name }: { id: string | null; name: string | undefined }) {
  const monitor = (monitors.value ?? []).find((each) => each.id === id);
  if (monitor === undefined) return <LongText text={name ?? 'Deleted monitor'} />;
  return (
    <a href={`/monitors/${monitor.id}`} class={`${LINK} block w-fit max-w-full`}>
      <LongText text={monitor.name} />
    </a>
  );
}

/** The agent by its name in the alert, as a link. */
function AgentName({ delivery: { agent_id: id, agent_name: name } }: { delivery: Schemas['Delivery'] }) {
  if (id === undefined) return null;
  return (
    <a href={`/agents/${id}`} class={`${LINK} block w-fit max-w-full`}>
      <LongText text={name ?? 'Deleted agent'} />
    </a>
  );
}

function AttemptShown({ attempt }: { attempt: Attempt }) {
  const { outcome, status_code: status, error, response, duration_ms: duration } = attempt;
  const { label, tone } = outcome === null ? { label: 'In progress', tone: 'plain' as const } : ENDS[outcome];
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
          aria-label={`Response to attempt ${attempt.attempt}`}
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
