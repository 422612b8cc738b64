import { useSignal } from '@preact/signals';
import { problemsByField } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { toast, useFormAction } from '../../parts/action.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { formatNumber } from '../../parts/figures.ts';
import { Loaded, Placeholder, useLoad } from '../../parts/load.tsx';
import { Fact } from '../../parts/object-page.tsx';

type Plan = Schemas['Retirement'];

/** The option without a region. */
const NO_ONE = '';

type RetireProps = { region: string; others: readonly string[]; onDone: () => void; onClose: () => void };

/** A dialog that shows the effect of retiring a region on its monitors, and retires it. */
export function Retire({ region, others, onDone, onClose }: RetireProps) {
  const target = useSignal(NO_ONE);
  const moveTo = target.value === NO_ONE ? null : target.value;
  const plan = useLoad(
    async (signal) => {
      const body = { region, move_to: moveTo, confirmed: false };
      return { of: moveTo, ...(await api.post('/fleet/retirements', { body, signal })) };
    },
    [region, moveTo],
  );
  const isKnown = plan.value.value?.of === moveTo;
  const formAction = useFormAction();
  const retire = () =>
    formAction.run(async () => {
      // A thousand monitors per request, until none are left or their number no longer falls.
      let left = Number.POSITIVE_INFINITY;
      for (let before = left; left > 0; before = left) {
        ({ left } = await api.post('/fleet/retirements', { body: { region, move_to: moveTo, confirmed: true } }));
        if (left >= before) break;
      }
      if (left > 0) toast(`${formatNumber(left)} monitors still use ${region}. Retire it again`, 'bad');
      else toast(`${region} retired`);
      onDone();
      onClose();
    });
  const { rest } = problemsByField(formAction.error.value, {});
  return (
    <FormDialog
      title={`Retire ${region}?`}
      action="Retire region"
      tone="danger"
      isBusy={formAction.isBusy.value}
      canSubmit={isKnown}
      error={rest}
      onSubmit={() => void retire()}
      onClose={onClose}
    >
      <SelectField
        label="Replacement region"
        hint="Where its monitors move."
        value={target.value}
        options={[
          { value: NO_ONE, label: 'Only for monitors without another region' },
          ...others.map((other) => ({ value: other, label: other })),
        ]}
        onValue={(value) => (target.value = value)}
      />
      <Loaded load={plan} height="h-24">
        {(known) => (isKnown ? <Meaning plan={known} /> : <Placeholder class="h-24" />)}
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
      <dl class="grid grid-cols-2 gap-x-6 gap-y-3">
        <Fact name={`Monitors in ${region}`}>{formatNumber(monitors)}</Fact>
        <Fact name="Without another region">{formatNumber(onlySource)}</Fact>
        <Fact name="Moved to the replacement">{formatNumber(moved)}</Fact>
        <Fact name="Confirmed by fewer locations">{formatNumber(lowered)}</Fact>
      </dl>
      <p class="mt-3">
        The region can’t be selected anymore; its results are kept. You can restore it on the command line, but its
        monitors don’t move back.
      </p>
    </div>
  );
}
