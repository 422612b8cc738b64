import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { Field, inputClass, SelectField } from '../../parts/field.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { toast } from '../../parts/toast.tsx';

const HOUR = 3600;
/** How far back, in seconds; what is older is not kept. */
const SPANS = [
  { value: String(HOUR), label: 'The last hour' },
  { value: String(6 * HOUR), label: 'The last 6 hours' },
  { value: String(24 * HOUR), label: 'The last 24 hours' },
  { value: String(7 * 24 * HOUR), label: 'The last 7 days' },
  { value: String(30 * 24 * HOUR), label: 'The last 30 days, all that is kept' },
  { value: 'since', label: 'Since a moment of mine' },
];

/** Sends again all that failed since a moment. */
export function ReplayDialog({
  channelId,
  onClose,
  onDone,
}: {
  channelId: string;
  onClose: () => void;
  onDone: () => Promise<void>;
}) {
  const span = useSignal(String(24 * HOUR));
  const moment = useSignal('');
  const error = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const isOwnMoment = span.value === 'since';
  const replay = async () => {
    isBusy.value = true;
    try {
      const since = isOwnMoment
        ? Math.floor(new Date(moment.value).getTime() / 1000)
        : Math.floor(Date.now() / 1000) - Number(span.value);
      const { replayed } = await api.post('/channels/{id}/replay', { path: { id: channelId }, body: { since } });
      await onDone();
      toast(
        replayed === 0
          ? 'Nothing failed in that time'
          : replayed === 1
            ? 'One delivery is sent again'
            : `${replayed} deliveries are sent again`,
      );
      onClose();
    } catch (failure) {
      error.value = failure;
      isBusy.value = false;
    }
  };
  const { byField, rest } = problemsByField(error.value, ['since']);
  return (
    <FormDialog
      title="Send what failed again"
      action="Send again"
      isBusy={isBusy.value}
      canSubmit={!isOwnMoment || moment.value !== ''}
      error={rest}
      onSubmit={() => void replay()}
      onClose={onClose}
    >
      <p class="text-sm text-soft">
        Every delivery that failed goes out once more, the oldest first, under its old id: a receiver that knows it
        already can tell.
      </p>
      <SelectField
        label="Of"
        options={SPANS}
        value={span.value}
        onValue={(value) => (span.value = value)}
        error={isOwnMoment ? null : byField['since']}
      />
      {isOwnMoment && (
        <Field label="Since" hint="In your own time." error={byField['since']}>
          {(input) => (
            <input
              {...input}
              type="datetime-local"
              value={moment.value}
              onInput={(event) => (moment.value = event.currentTarget.value)}
              class={`${inputClass(input)} h-9`}
            />
          )}
        </Field>
      )}
    </FormDialog>
  );
}
