import { useSignal, type Signal } from '@preact/signals';
import { CopyText } from '../../parts/copy.tsx';
import { confirm } from '../../parts/dialog.tsx';

/** Codes that are shown once, and how the dialog that shows them closes. */
export type KeptCodes = { codes: Signal<readonly string[] | null>; close: () => void };

/** Has somebody asked before codes that were never seen again are gone. */
export function useKeptCodes(onClose: () => void): KeptCodes {
  const codes = useSignal<readonly string[] | null>(null);
  const close = () => {
    if (codes.value === null) return onClose();
    void confirm({ title: 'Have you kept the codes?', text: 'They are not shown again. Without them and without your phone you do not get in any more.', action: 'I have kept them', tone: 'primary' }).then((yes) => yes && onClose());
  };
  return { codes, close };
}

/** Recovery codes, to be kept where the phone is not. */
export function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  return (
    <div class="flex flex-col gap-3 text-sm">
      <p>Keep these recovery codes where your phone is not. Each lets you in once without it, and they are not shown again.</p>
      <CopyText text={codes.join('\n')} label="Recovery codes" />
    </div>
  );
}
