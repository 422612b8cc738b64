import type { Schemas } from '../../client/shapes.ts';
import { SelectField } from '../../parts/choice-fields.tsx';
import { Badge } from '../../parts/status.tsx';
import { clock, formatAgo } from '../../parts/time.tsx';
import { type FormState, countLocations } from './defaults.ts';
import { Collapsible, FieldProblem } from './fields.tsx';

/** The silence after which an agent gets a warning, in seconds. */
const QUIET_SECONDS = 180;

const UNABLE = {
  capability: 'cannot check this type',
  no_key: 'has shown no key for secrets',
  other_key: 'shows another key than at first',
} as const;

/** The locations that check a monitor, and how many of them have to agree. */
export function Locations({ form }: { form: FormState }) {
  const { draft, change, defaults, surroundings, problem, agents } = form;
  const own = agents.filter(({ kind }) => kind === 'tenant');
  const shared = agents.filter(({ kind }) => kind === 'first_party');
  const count = countLocations(draft, surroundings.sharedLocations);
  const most = Math.max(count, Number(draft.quorum) || 1);
  const options = [
    { value: '', label: `Chosen for you: ${defaults.quorum} of ${Math.max(1, count)}` },
    ...Array.from({ length: most }, (_, index) => ({ value: String(index + 1), label: `${index + 1} of ${count}` })),
  ];
  const note = draft.sources.length === 0 ? 'chosen for you' : `${draft.sources.length} of ${agents.length}`;
  return (
    <Collapsible title="Locations" note={note} isOpen={own.length > 0}>
      <fieldset class="min-w-0">
        <legend class="text-sm font-medium">Check from</legend>
        <p class="text-[0.8125rem] leading-5 text-soft">
          Several locations distinguish a dead target from a bad line. None ticked: up to three shared ones are chosen
          for you.
        </p>
        <FieldProblem text={problem('agent_sources')} />
        <AgentGroup title="Your agents" agents={own} form={form} />
        <AgentGroup title="Shared" agents={shared} form={form} />
        {agents.length === 0 && <p class="mt-2 text-sm text-soft">There is no agent yet.</p>}
      </fieldset>
      <SelectField
        label="Locations that have to agree"
        value={draft.quorum}
        options={options}
        error={problem('down_min_sources')}
        hint="Before its state changes. What fewer of them see is not reported."
        class="md:max-w-xs"
        onValue={(quorum) => change({ quorum })}
      />
    </Collapsible>
  );
}

function AgentGroup({
  title,
  agents,
  form: { draft, change, monitor },
}: {
  title: string;
  agents: readonly Schemas['Agent'][];
  form: FormState;
}) {
  if (agents.length === 0) return null;
  const toggle = (id: string, isOn: boolean) =>
    change({ sources: isOn ? [...draft.sources, id] : draft.sources.filter((each) => each !== id) });
  return (
    <>
      <p class="mt-2.5 text-xs font-medium text-soft">{title}</p>
      <ul class="mt-1 grid gap-x-5 md:grid-cols-2">
        {agents.map(({ id, name, region, last_seen_at: lastSeenAt }) => {
          const unable = monitor?.agent_sources_unable?.find((each) => each.id === id)?.reason;
          const isQuiet = lastSeenAt === null || clock.value - lastSeenAt > QUIET_SECONDS;
          return (
            <li key={id}>
              <label class="flex items-center gap-2.5 rounded-md py-1.5 text-sm">
                <input
                  type="checkbox"
                  checked={draft.sources.includes(id)}
                  onChange={(event) => toggle(id, event.currentTarget.checked)}
                  class="size-[1.125rem] shrink-0 accent-accent"
                />
                <span class="clipped min-w-0">
                  {name}
                  {region !== null && region !== name && <span class="text-soft"> {region}</span>}
                </span>
                {unable !== undefined ? (
                  <Badge tone="warning">{UNABLE[unable]}</Badge>
                ) : (
                  isQuiet && (
                    <Badge tone="warning">
                      {lastSeenAt === null ? 'never seen' : `seen ${formatAgo(lastSeenAt, clock.value)}`}
                    </Badge>
                  )
                )}
              </label>
            </li>
          );
        })}
      </ul>
    </>
  );
}
