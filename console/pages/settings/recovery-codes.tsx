import { CopyText } from '../../parts/copy.tsx';
import { KeptDialog } from '../../parts/kept.tsx';

/** Recovery codes, to be kept where the phone is not. */
export function RecoveryCodes({
  title,
  codes,
  onClose,
}: {
  title: string;
  codes: readonly string[];
  onClose: () => void;
}) {
  return (
    <KeptDialog
      title={title}
      question="Have you kept the codes?"
      text="They are not shown again. Without them and without your phone you do not get in any more."
      action="I have kept them"
      onClose={onClose}
    >
      <div class="flex flex-col gap-3 text-sm">
        <p>
          Keep these recovery codes where your phone is not. Each lets you in once without it, and they are not shown
          again.
        </p>
        <CopyText text={codes.join('\n')} label="Recovery codes" />
      </div>
    </KeptDialog>
  );
}
