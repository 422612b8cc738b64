import { useSignal } from '@preact/signals';
import { MOST_PARENTS, type DependencyMode, type Parent } from '../../../core/monitors/dependencies.ts';
import { monitors } from '../../client/live.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { MonitorDialog } from '../channels/monitor-choice.tsx';
import type { FormState } from './defaults.ts';
import { Collapsible, FieldProblem } from './fields.tsx';

const MODES = [
  { value: 'hold', label: 'Hold alerts while it is down' },
  { value: 'annotate', label: 'Mention it in alerts' },
] as const satisfies readonly { value: DependencyMode; label: string }[];

/** The monitors that this one is behind, each with what it means for alerts when it is down. */
export function Parents({ form: { draft, change, problem } }: { form: FormState }) {
  const isChoosing = useSignal(false);
  const { parents } = draft;
  const names = new Map(monitors.value?.map(({ id, name }) => [id, name]));
  const set = (next: readonly Parent[]) => change({ parents: next });
  const choose = (id: string) => {
    isChoosing.value = false;
    if (parents.every((each) => each.id !== id)) set([...parents, { id, mode: 'hold' }]);
  };
  return (
    <Collapsible
      title="Behind other monitors"
      note={parents.length === 0 ? 'none' : String(parents.length)}
      isOpen={parents.length > 0}
    >
      <p class="text-[0.8125rem] leading-5 text-soft">
        When one of these is down, alerts of this monitor say so. Those that are held come in its message.
      </p>
      <FieldProblem text={problem('depends_on')} />
      <ul class="mt-1" aria-label="Behind">
        {parents.map(({ id, mode }) => (
          <li key={id} class="flex items-center gap-3 py-1.5 text-sm">
            <span class="clipped min-w-0 grow">{names.get(id) ?? id}</span>
            <SelectField
              label={`When ${names.get(id) ?? id} is down`}
              hideLabel
              options={MODES}
              value={mode}
              onValue={(value) =>
                set(parents.map((each) => (each.id === id ? { id, mode: value as DependencyMode } : each)))
              }
            />
            <Button onClick={() => set(parents.filter((each) => each.id !== id))}>Remove</Button>
          </li>
        ))}
      </ul>
      {parents.length < MOST_PARENTS && <Button onClick={() => (isChoosing.value = true)}>Add a monitor</Button>}
      {isChoosing.value && <MonitorDialog onClose={() => (isChoosing.value = false)} onChosen={choose} />}
    </Collapsible>
  );
}
