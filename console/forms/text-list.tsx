import { useId, useRef } from 'preact/hooks';
import { Button, IconButton } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import { Icon } from '../parts/icon.tsx';

type Props = {
  label: string;
  item: string;
  values: readonly string[];
  onValues: (values: readonly string[]) => void;
  placeholder: string;
  hint?: string;
  error?: string | undefined;
};

/** Several texts, each in a line of its own; `item` is what one of them is called. */
export function TextList({ label, item, values, onValues, placeholder, hint, error }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const add = () => {
    onValues([...values, '']);
    focusLastRow(list.current);
  };
  return (
    <fieldset aria-describedby={id} class="min-w-0">
      <legend class="text-sm font-medium">{label}</legend>
      <div id={id} class="text-[0.8125rem] leading-5 text-soft empty:hidden">
        {hint}
      </div>
      <FieldProblem text={error} />
      <ul ref={list} class="mt-1.5 flex flex-col gap-1.5 empty:hidden">
        {values.map((value, index) => (
          <li key={index} class="flex items-start gap-1">
            <TextField
              label={`${item} ${index + 1}`}
              hideLabel
              value={value}
              placeholder={placeholder}
              autocapitalize="off"
              spellcheck={false}
              class="min-w-0 flex-1"
              onValue={(text) => onValues(values.map((each, at) => (at === index ? text : each)))}
            />
            <IconButton
              icon="close"
              label={`Remove ${item.toLowerCase()} ${index + 1}`}
              onClick={() => onValues(values.filter((_, at) => at !== index))}
            />
          </li>
        ))}
      </ul>
      <Button size="small" icon="plus" class="mt-2" onClick={add}>
        Add {item.toLowerCase()}
      </Button>
    </fieldset>
  );
}

/** Leads the keyboard to what takes the place of a button that was pressed, within what has `data-secret`. */
export function focusInstead(button: HTMLElement): void {
  const container = button.closest('[data-secret]');
  requestAnimationFrame(() =>
    [...(container?.querySelectorAll<HTMLElement>('input:not([type="checkbox"]), textarea, button[data-first]') ?? [])]
      .at(-1)
      ?.focus(),
  );
}

/** Leads the keyboard into a row that is about to be added at the end of a list. */
export function focusLastRow(list: HTMLElement | null): void {
  // It is there after the next drawing.
  requestAnimationFrame(() => list?.querySelector<HTMLElement>(':scope > li:last-child :is(input, select)')?.focus());
}

/** What is wrong with something that has several inputs; the keyboard is led here after a failed save. */
export function FieldProblem({ text }: { text: string | undefined }) {
  return text === undefined ? null : (
    <p role="alert" tabIndex={-1} data-problem class="mt-1 flex gap-1.5 rounded text-[0.8125rem] leading-5 text-down">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span>{text}</span>
    </p>
  );
}
