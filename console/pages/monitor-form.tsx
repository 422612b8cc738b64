import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { Failure } from '../client/answer.ts';
import { api, type Schemas } from '../client/api.ts';
import { usePoll } from '../client/live.ts';
import { canWrite, signedIn } from '../client/session-state.ts';
import { Loaded, useLoad } from '../parts/load.tsx';
import { EmptyPage, ViewOnly } from '../parts/object-page.tsx';
import { Page } from '../parts/page.tsx';
import { PATHS, type PageProps } from '../paths.ts';
import { useChannels, type Channel } from './channels/words.tsx';
import { chosenChannels } from './monitor-form/alerting.tsx';
import { cloneOf, draftOf, emptyDraft, type MonitorType } from './monitor-form/draft.ts';
import { MonitorForm } from './monitor-form/form.tsx';
import { withFollowing, type Surroundings } from './monitor-form/problems.ts';
import { TYPES } from './monitor-form/words.ts';

/** Interval at which locations are reloaded, in milliseconds. */
const AGENTS_POLL_MS = 30_000;

/**
 * The page that creates a monitor or, with an id in the address, edits one. `from` in the query is the monitor that a
 * new one copies.
 */
export function MonitorFormPage({ params, query }: PageProps) {
  // A form of another monitor, or of none, is another form.
  return <FormPage key={query['from']} params={params} query={query} />;
}

function FormPage({ params, query }: PageProps) {
  const id = params['id'];
  const from = id ?? query['from'];
  const channels = useChannels();
  const load = useLoad(
    async (signal) => {
      const [{ vendors }, monitor] = await Promise.all([
        api.get('/vendors', { signal }),
        from === undefined ? null : api.get('/monitors/{id}', { path: { id: from }, signal }),
      ]);
      return { vendors, monitor };
    },
    [from],
  );
  const agents = useLoad((signal) => api.get('/agents', { query: { limit: 1000 }, signal }), []);
  // Whether a location counts as online depends on the clock, which goes on while the form is open.
  usePoll(agents, true, AGENTS_POLL_MS);
  if (!canWrite())
    return (
      <ViewOnly
        title={id === undefined ? 'New monitor' : 'Edit monitor'}
        back={{ label: 'Monitors', href: PATHS.monitors }}
        icon="monitors"
        who={id === undefined ? 'create monitors' : 'edit monitors'}
      />
    );
  const { value: failure } = load.error;
  if (failure instanceof Failure && failure.status === 404)
    return (
      <EmptyPage
        title={id === undefined ? 'New monitor' : 'Edit monitor'}
        back={{ label: 'Monitors', href: PATHS.monitors }}
        icon="monitors"
        heading="Monitor not found"
      >
        It was deleted, or the address is wrong.
      </EmptyPage>
    );
  const monitor = load.value.value?.monitor ?? null;
  const back =
    id === undefined
      ? { label: 'Monitors', href: PATHS.monitors }
      : { label: monitor?.name ?? 'Monitor', href: `/monitors/${id}` };
  return (
    <Page
      title={id === undefined ? 'New monitor' : 'Edit monitor'}
      back={back}
      lead={monitor === null ? undefined : leadOf(monitor, id === undefined)}
    >
      <Loaded load={load}>
        {({ vendors, monitor: stored }) => (
          <Loaded load={agents}>
            {({ agents: known }) => (
              <Loaded load={channels}>
                {(listed) => (
                  <MonitorForm
                    {...openForm({
                      agents: known,
                      channels: listed,
                      stored,
                      isCopy: id === undefined,
                      type: typeOf(query['type']),
                    })}
                    agents={known}
                    vendors={vendors}
                    channels={listed}
                  />
                )}
              </Loaded>
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}

type Opening = {
  agents: readonly Schemas['Agent'][];
  channels: readonly Channel[];
  /** The monitor that is edited or copied; null for an empty form. */
  stored: Schemas['MonitorDetail'] | null;
  isCopy: boolean;
  type: MonitorType;
};

/** Creates the form's initial state: a stored monitor, a copy of one, or an empty draft of a type. */
function openForm({ agents, channels, stored, isCopy, type }: Opening) {
  const surroundings: Surroundings = {
    minInterval: PLAN_LIMITS[signedIn().tenant.plan].minIntervalSeconds,
    sharedLocations: agents.filter(({ kind }) => kind === 'first_party').length,
  };
  if (stored === null) return { original: emptyDraft(type), surroundings, monitor: null };
  const chosen = { ...draftOf(stored), channels: chosenChannels(channels, stored.id) };
  const draft = withFollowing(chosen, surroundings);
  return isCopy
    ? { original: cloneOf(draft), surroundings, monitor: null }
    : { original: draft, surroundings, monitor: stored };
}

function leadOf({ name, type }: Schemas['MonitorDetail'], isCopy: boolean): string {
  return isCopy
    ? `Copy of ${name}. Stored secrets are not copied.`
    : `${TYPES[type].label}. The type can’t be changed.`;
}

/** Returns the type that a link requests, `http` by default. */
function typeOf(requested: string | undefined): MonitorType {
  return requested !== undefined && Object.hasOwn(TYPES, requested) ? (requested as MonitorType) : 'http';
}
