import { useSignal } from '@preact/signals';
import { sentenceOf } from '../client/failure.ts';
import { useFormAction } from './action.ts';
import { SelectField } from './choice-fields.tsx';
import { FormDialog } from './dialog.tsx';
import { formatDuration } from './time.tsx';

type UntilProps = {
  title: string;
  action: string;
  hint: string;
  /** The choices, in seconds, and the one that is chosen first. */
  lengths: readonly number[];
  initial: number;
  /** Called with the end in Unix seconds. */
  onSubmit: (until: number) => Promise<void>;
  onClose: () => void;
};

/** Asks for how long from now on something lasts. */
export function UntilDialog({ title, action, hint, lengths, initial, onSubmit, onClose }: UntilProps) {
  const seconds = useSignal(String(initial));
  const { isBusy, error, run } = useFormAction();
  const submit = () =>
    run(async () => {
      await onSubmit(Math.floor(Date.now() / 1000) + Number(seconds.value));
      onClose();
    });
  return (
    <FormDialog
      title={title}
      action={action}
      isBusy={isBusy.value}
      error={error.value === null ? null : sentenceOf(error.value)}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <SelectField
        label="From now, for"
        options={lengths.map((each) => ({ value: String(each), label: formatDuration(each) }))}
        value={seconds.value}
        onValue={(value) => (seconds.value = value)}
        hint={hint}
      />
    </FormDialog>
  );
}
