import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { api } from '../client/api.ts';
import { canWrite, signedIn } from '../client/session-state.ts';
import { Loaded, useLoad } from '../parts/load.tsx';
import { ViewOnly } from '../parts/object-page.tsx';
import { Page } from '../parts/page.tsx';
import { type PageProps, PATHS } from '../paths.ts';
import { withFollowing, type Surroundings } from './monitor-form/defaults.ts';
import { draftOf, emptyDraft, type MonitorType } from './monitor-form/draft.ts';
import { MonitorForm } from './monitor-form/form.tsx';
import { TYPES } from './monitor-form/words.ts';

/** The page that creates a monitor or, with an id in the address, edits one. */
export function MonitorFormPage({ params, query }: PageProps) {
  const id = params['id'];
  const load = useLoad(
    async (signal) => {
      const [{ agents }, { vendors }, monitor] = await Promise.all([
        api.get('/agents', { query: { limit: 1000 }, signal }),
        api.get('/vendors', { signal }),
        id === undefined ? null : api.get('/monitors/{id}', { path: { id }, signal }),
      ]);
      return { agents, vendors, monitor };
    },
    [id],
  );
  if (!canWrite())
    return (
      <ViewOnly
        title={id === undefined ? 'New monitor' : 'Edit monitor'}
        back={{ label: 'Monitors', href: PATHS.monitors }}
        icon="monitors"
        who={id === undefined ? 'make monitors' : 'change monitors'}
      />
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
      lead={monitor === null ? undefined : `${TYPES[monitor.type].label}. What is watched can change, its type cannot.`}
    >
      <Loaded load={load}>
        {(loaded) => {
          const surroundings: Surroundings = {
            minInterval: PLAN_LIMITS[signedIn().tenant.plan].minIntervalSeconds,
            sharedLocations: loaded.agents.filter(({ kind }) => kind === 'first_party').length,
          };
          const original =
            loaded.monitor === null
              ? emptyDraft(typeOf(query['type']))
              : withFollowing(draftOf(loaded.monitor), surroundings);
          return (
            <MonitorForm
              {...{ original, surroundings }}
              monitor={loaded.monitor}
              agents={loaded.agents}
              vendors={loaded.vendors}
            />
          );
        }}
      </Loaded>
    </Page>
  );
}

/** The type that a link asks for, `http` by default. */
function typeOf(requested: string | undefined): MonitorType {
  return requested !== undefined && Object.hasOwn(TYPES, requested) ? (requested as MonitorType) : 'http';
}
