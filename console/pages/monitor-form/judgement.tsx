import type { Schemas } from '../../client/api.ts';
import { monitors } from '../../client/live.ts';
import { CheckField, SelectField } from '../../parts/choice-fields.tsx';
import { count } from '../../parts/figures.ts';
import { Badge } from '../../parts/status.tsx';
import { clock, formatAgo } from '../../parts/time.tsx';
import { Collapsible, FieldProblem, NumberField } from './fields.tsx';
import { countLocations, type FormState } from './problems.ts';

/** Silence after which an agent gets a warning, in seconds. */
const QUIET_SECONDS = 180;

const UNABLE = {
  capability: 'can’t check this type',
  no_key: 'has no key for secrets',
  other_key: 'its key has changed',
} as const;

/** The locations that check a monitor, and how many of them have to agree. */
export function Locations({ form }: { form: FormState }) {
  const { draft, change, defaults, surroundings, problem, agents, monitor } = form;
  const own = agents.filter(({ kind }) => kind === 'tenant');
  const shared = agents.filter(({ kind }) => kind === 'first_party');
  const locations = countLocations(draft, surroundings.sharedLocations);
  const most = Math.max(locations, Number(draft.quorum) || 1);
  const options = [
    { value: '', label: `Automatic: ${defaults.quorum} of ${Math.max(1, locations)}` },
    ...Array.from({ length: most }, (_, index) => ({
      value: String(index + 1),
      label: `${index + 1} of ${locations}`,
    })),
  ];
  const canBeEmpty = monitor === null || monitor.agent_sources.length === 0;
  const note = draft.sources.length === 0 && canBeEmpty ? 'automatic' : `${draft.sources.length} of ${agents.length}`;
  return (
    <Collapsible title="Locations" note={note} isOpen={own.length > 0}>
      <fieldset class="min-w-0">
        <legend class="text-sm font-medium">Check from</legend>
        <p class="text-[0.8125rem] leading-5 text-soft">
          Multiple locations rule out local network problems. {canBeEmpty && 'Leave empty to use up to 3 shared ones.'}
        </p>
        <FieldProblem text={problem('agent_sources')} />
        <AgentGroup title="Your agents" agents={own} form={form} />
        <AgentGroup title="Shared" agents={shared} form={form} />
        {agents.length === 0 && <p class="mt-2 text-sm text-soft">No locations yet.</p>}
      </fieldset>
      <SelectField
        label="Confirm from"
        value={draft.quorum}
        options={options}
        error={problem('down_min_sources')}
        hint="Locations that must fail. Fewer failures don’t trigger an alert."
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
      <ul class="mt-1 grid grid-cols-1 gap-x-5 md:grid-cols-2">
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
                      {lastSeenAt === null ? 'never online' : `last seen ${formatAgo(lastSeenAt, clock.value)}`}
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

const STREAKS = ['1', '2', '3', '4', '5'].map((value) => ({ value, label: value }));

/** The thresholds, the timeout and the uptime target. */
export function Judgement({ form: { draft, change, defaults, problem } }: { form: FormState }) {
  const hasThresholds = draft.type !== 'heartbeat';
  // A second check would read the same registry date, so one bad result decides (D-446).
  const isLookup = draft.type === 'domain';
  const failures = isLookup ? '1' : draft.failures === '' ? String(defaults.failures) : draft.failures;
  const successes = draft.successes === '' ? String(defaults.successes) : draft.successes;
  return (
    <Collapsible
      title={hasThresholds ? 'Thresholds' : 'Uptime target'}
      note={
        hasThresholds
          ? `down after ${failures}, up after ${successes}`
          : draft.slaTarget === ''
            ? 'no uptime target'
            : `${draft.slaTarget}%`
      }
      isOpen={draft.slaTarget !== ''}
    >
      <div class="grid gap-5 md:grid-cols-2">
        {hasThresholds && (
          <>
            {!isLookup && (
              <SelectField
                label="Failures before alerting"
                value={failures}
                options={STREAKS}
                hint="In a row. 2 avoids false alarms."
                error={problem('down_after_failures')}
                onValue={(value) => change({ failures: value })}
              />
            )}
            <SelectField
              label="Successes before recovery"
              value={successes}
              options={STREAKS}
              hint="In a row."
              error={problem('up_after_successes')}
              onValue={(value) => change({ successes: value })}
            />
            <NumberField
              label="Timeout"
              unit="ms"
              value={draft.timeout}
              standard={defaults.timeout}
              hint="At most 10000, and shorter than the interval."
              error={problem('timeout_ms')}
              onValue={(timeout) => change({ timeout })}
            />
          </>
        )}
        <NumberField
          label="Reopen incidents within"
          unit="s"
          value={draft.reopen}
          standard={0}
          hint="A failure that soon after a recovery continues its incident."
          error={problem('reopen_seconds')}
          onValue={(reopen) => change({ reopen })}
        />
        <div class="md:pt-7">
          <CheckField
            label="Drill each month"
            checked={draft.monthlyDrill}
            onChecked={(monthlyDrill) => change({ monthlyDrill })}
            hint="A marked alert goes to its channels, and ends by itself."
          />
        </div>
        <NumberField
          label="Uptime target"
          unit="%"
          value={draft.slaTarget}
          standard={null}
          hint="SLO, like 99.9. Reports show whether it was met."
          error={problem('sla_target')}
          onValue={(slaTarget) => change({ slaTarget })}
        />
      </div>
    </Collapsible>
  );
}

/** The vendor monitors that this one depends on; alerts mention those that are down or degraded. */
export function Dependencies({ form: { draft, change, problem } }: { form: FormState }) {
  if (draft.type === 'vendor') return null;
  const vendors = (monitors.value ?? []).filter(({ type }) => type === 'vendor');
  const toggle = (id: string, isOn: boolean) =>
    change({ dependencies: isOn ? [...draft.dependencies, id] : draft.dependencies.filter((each) => each !== id) });
  const { length } = draft.dependencies;
  return (
    <Collapsible title="Vendor dependencies" note={length === 0 ? 'none' : count(length, 'vendor')} isOpen={length > 0}>
      <fieldset class="min-w-0">
        <legend class="text-sm font-medium">Vendors</legend>
        <p class="text-[0.8125rem] leading-5 text-soft">
          {vendors.length === 0
            ? 'No vendor monitors yet. Create one for a service you depend on.'
            : 'Alerts mention which of these are down or degraded.'}
        </p>
        <FieldProblem text={problem('dependencies')} />
        <ul class="mt-1 grid grid-cols-1 gap-x-5 md:grid-cols-2">
          {vendors.map(({ id, name }) => (
            <li key={id}>
              <label class="flex items-center gap-2.5 py-1.5 text-sm">
                <input
                  type="checkbox"
                  checked={draft.dependencies.includes(id)}
                  onChange={(event) => toggle(id, event.currentTarget.checked)}
                  class="size-[1.125rem] shrink-0 accent-accent"
                />
                <span class="clipped min-w-0">{name}</span>
              </label>
            </li>
          ))}
        </ul>
      </fieldset>
    </Collapsible>
  );
}
