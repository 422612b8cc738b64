import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useLoad } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { StatusMark } from '../../parts/status.tsx';

type Related = Schemas['RelatedMonitor'];

/**
 * Both ends of a monitor's dependencies; nothing where there are none. `version` changes with its settings and status.
 */
export function Dependencies({ id, version }: { id: string; version: string }) {
  const load = useLoad((signal) => api.get('/monitors/{id}/dependencies', { path: { id }, signal }), [id, version]);
  const { value } = load.value;
  if (value === null || value.depends_on.length + value.dependents.length === 0) return null;
  const { depends_on: parents, dependents, dependents_total: total } = value;
  return (
    <Section title="Dependencies">
      <Card class="grid gap-4 px-4 py-3 text-sm md:grid-cols-2 md:px-5">
        {parents.length > 0 && <RelatedList title="Behind" monitors={parents} more={0} />}
        {dependents.length > 0 && (
          <RelatedList title="Monitors behind it" monitors={dependents} more={total - dependents.length} />
        )}
      </Card>
    </Section>
  );
}

function RelatedList({ title, monitors, more }: { title: string; monitors: readonly Related[]; more: number }) {
  return (
    <div class="min-w-0">
      <h3 class="text-soft">{title}</h3>
      <ul class="mt-1">
        {monitors.map(({ id, name, status, mode }) => (
          <li key={id} class="flex items-center gap-2.5 py-1">
            <StatusMark status={status} />
            <a href={`/monitors/${id}`} class="clipped min-w-0 underline underline-offset-2">
              {name}
            </a>
            <span class="ml-auto shrink-0 text-xs text-soft">{mode === 'hold' ? 'holds alerts' : 'mentioned'}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="mt-1 text-soft">{more} more</p>}
    </div>
  );
}
