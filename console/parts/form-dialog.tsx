import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FormError } from './field.tsx';

type FormDialogProps = {
  title: string;
  /** What the button does, in its own words. */
  action: string;
  tone?: 'primary' | 'danger';
  isBusy: boolean;
  canSubmit?: boolean;
  /** What is wrong with the whole; null where nothing is. */
  error: string | null;
  onSubmit: () => void;
  onClose: () => void;
  children: ComponentChildren;
};

/** A few fields over the page, which Enter sends as well. */
export function FormDialog({
  title,
  action,
  tone = 'primary',
  isBusy,
  canSubmit = true,
  error,
  onSubmit,
  onClose,
  children,
}: FormDialogProps) {
  const id = useId();
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} tone={tone} busy={isBusy} disabled={!canSubmit}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        class="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
        <FormError text={error} />
      </form>
    </Dialog>
  );
}
