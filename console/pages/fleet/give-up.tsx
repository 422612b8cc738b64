import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useFormAction } from '../../parts/action.ts';
import { SelectField } from '../../parts/choice-fields.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { toast } from '../../parts/toast.tsx';

type Plan = Schemas['Retirement'];

/** The option without a region. */
const NO_ONE = '';

type GiveUpProps = { region: string; others: readonly string[]; onDone: () => void; onClose: () => void };

/** A dialog that shows what retiring a region does to its monitors, and retires it. */
export function GiveUp({ region, others, onDone, onClose }: GiveUpProps) {
  const target = useSignal(NO_ONE);
  const moveTo = target.value === NO_ONE ? null : target.value;
  const plan = useLoad(
    (signal) => api.post('/fleet/retirements', { body: { region, move_to: moveTo, confirmed: false }, signal }),
    [region, moveTo],
  );
  const formAction = useFormAction();
  const giveUp = () =>
    formAction.run(async () => {
      // A thousand monitors per request, until none are left or their number no longer falls.
      let left = Number.POSITIVE_INFINITY;
      for (let before = left; left > 0; before = left) {
        ({ left } = await api.post('/fleet/retirements', { body: { region, move_to: moveTo, confirmed: true } }));
        if (left >= before) break;
      }
      if (left > 0)
        toast(`${left.toLocaleString()} monitors are watched from ${region} still: give it up once more`, 'bad');
      else toast(`${region} is given up`);
      onDone();
      onClose();
    });
  const { rest } = problemsByField(formAction.error.value, {});
  return (
    <FormDialog
      title={`Give up ${region}?`}
      action="Give up"
      tone="danger"
      isBusy={formAction.isBusy.value}
      canSubmit={plan.value.value !== null}
      error={rest}
      onSubmit={() => void giveUp()}
      onClose={onClose}
    >
      <SelectField
        label="Instead of it"
        hint="The region that its monitors get."
        value={target.value}
        options={[
          { value: NO_ONE, label: 'Another region only where there is no other yet' },
          ...others.map((other) => ({ value: other, label: other })),
        ]}
        onValue={(value) => (target.value = value)}
      />
      <Loaded load={plan} height="h-24">
        {(known) => <Meaning plan={known} />}
      </Loaded>
    </FormDialog>
  );
}

function Meaning({
  plan: { region, monitors, only_source: onlySource, moved, down_min_sources_lowered: lowered },
}: {
  plan: Plan;
}) {
  return (
    <div class="text-sm">
      <ul class="list-disc pl-5">
        <li>
          {`${count(monitors)} watched from ${region}, ${onlySource.toLocaleString()} of them from nowhere else.`}
        </li>
        <li>
          {`${count(moved)} moved to another region, ${(monitors - moved).toLocaleString()} left to those that they ` +
            'have.'}
        </li>
        <li>{`${count(lowered)} down with the word of fewer regions than before.`}</li>
      </ul>
      <p class="mt-2">
        The region can no longer be chosen. Its results stay. The command line can take this back, but its monitors do
        not return by themselves.
      </p>
    </div>
  );
}

function count(monitors: number): string {
  return monitors === 1 ? '1 monitor is' : `${monitors.toLocaleString()} monitors are`;
}
