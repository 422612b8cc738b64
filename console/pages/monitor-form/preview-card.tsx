import { useSignal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';
import { Failure } from '../../client/failure.ts';
import type { FormState } from '../../forms/form-state.ts';
import { createBody, patchBody } from '../../forms/monitor-body.ts';
import { AGENT_CHECKED, type Draft } from '../../forms/monitor-draft.ts';
import { problemsOf, type Problems } from '../../forms/problems.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Card } from '../../parts/page.tsx';
import { PreviewResult } from './preview-result.tsx';

type Props = { form: FormState; original: Draft; onProblems: (problems: Problems) => void };

/** Checks what is filled in once, from a shared location, and shows the result; nothing is stored. */
export function PreviewCard({ form, original, onProblems }: Props) {
  const { draft, agents, surroundings, monitor } = form;
  const region = useSignal('');
  const isBusy = useSignal(false);
  const result = useSignal<{ preview: Schemas['Trial']; draft: Draft } | null>(null);
  const failure = useSignal<string | null>(null);
  const regions = [...new Set(agents.filter(({ kind }) => kind === 'first_party').map((agent) => agent.region ?? ''))]
    .filter((each) => each !== '')
    .toSorted();
  if (draft.type === 'heartbeat') return null;
  const isChoosable = AGENT_CHECKED.includes(draft.type) && regions.length > 1;
  const run = async () => {
    if (isBusy.peek()) return;
    isBusy.value = true;
    failure.value = null;
    try {
      const body =
        monitor === null
          ? { monitor: withoutEmptyName(createBody(draft)) }
          : { monitor_id: monitor.id, monitor: patchBody(draft, { original, surroundings }) };
      const preview = await api.post('/trials', {
        body: { ...body, ...(isChoosable && region.value !== '' && { region: region.value }) },
      });
      result.value = { preview, draft };
      onProblems({ byField: {}, rest: [] });
    } catch (error) {
      const problems = problemsOf(error, draft);
      result.value = null;
      if (error instanceof Failure && error.status === 400) onProblems(problems);
      else failure.value = problems.rest.join(' ');
    }
    isBusy.value = false;
  };
  return (
    <Card>
      <div class="flex flex-wrap items-end gap-x-3 gap-y-3">
        <div class="min-w-0 flex-1 basis-52">
          <h2 class="heading text-sm">Preview</h2>
          <p class="text-[0.8125rem] text-soft">
            One check of what is filled in here; no alert is sent, nothing is stored.
          </p>
        </div>
        {isChoosable && (
          <SelectField
            label="From"
            hideLabel
            value={region.value}
            options={[
              { value: '', label: 'From any location' },
              ...regions.map((value) => ({ value, label: `From ${value}` })),
            ]}
            class="min-w-40"
            onValue={(value) => (region.value = value)}
          />
        )}
        <Button icon="play" busy={isBusy.value} disabled={draft.target.trim() === ''} onClick={() => void run()}>
          Run preview
        </Button>
      </div>
      <div aria-live="polite" class="[&:not(:empty)]:mt-4">
        {failure.value !== null && <p class="text-sm text-down">{failure.value}</p>}
        {result.value !== null && <PreviewResult preview={result.value.preview} isOld={result.value.draft !== draft} />}
      </div>
    </Card>
  );
}

/** A preview needs no name. */
function withoutEmptyName({ name, ...rest }: Schemas['MonitorCreate']): Schemas['MonitorPatch'] {
  return name === '' ? rest : { name, ...rest };
}
