import { useSignal } from '@preact/signals';
import type { FormState } from '../../forms/form-state.ts';
import { SelectField, TextField } from '../../parts/field.tsx';

const OTHER = 'other';

/** A vendor out of the catalogue, or a page of one that is not in it. */
export function VendorChoice({ form: { draft, change, problem, vendors } }: { form: FormState }) {
  const isKnown = vendors.some(({ id }) => id === draft.target.toLowerCase());
  const isOther = useSignal(draft.target !== '' && !isKnown);
  const choose = (value: string) => {
    isOther.value = value === OTHER;
    // Another vendor has other components.
    change({ target: value === OTHER ? '' : value, components: [] });
  };
  return (
    <div class="flex flex-col gap-3">
      <SelectField
        label="Vendor"
        value={isOther.value ? OTHER : draft.target.toLowerCase()}
        hint="Type the first letters to find it in the list."
        error={isOther.value ? undefined : problem('target')}
        options={[
          { value: '', label: 'Choose a vendor' },
          { value: OTHER, label: 'Another one, by the URL of its status page' },
          ...vendors.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onValue={choose}
      />
      {isOther.value && (
        <TextField
          label="Status page"
          value={draft.target}
          placeholder="https://status.example.com"
          hint="A page made with Atlassian Statuspage. It is read when you save."
          error={problem('target')}
          inputMode="url"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onValue={(target) => change({ target })}
        />
      )}
    </div>
  );
}
