import { Button } from '../../parts/button.tsx';
import { CheckField } from '../../parts/choice-fields.tsx';
import { TextArea } from '../../parts/field.tsx';
import type { SecretText } from './draft.ts';
import { focusInstead } from './fields.tsx';

type Props = {
  label: string;
  value: SecretText;
  onValue: (value: SecretText) => void;
  isStored: boolean;
  secretHint: string;
  hint: string;
  placeholder: string;
  error?: string | undefined;
};

/**
 * A text that may be secret; `isStored`: the service stores a secret one. It is kept until it is replaced or removed by
 * a button.
 */
export function SecretTextField({
  label,
  value: { kind, text },
  onValue,
  isStored,
  secretHint,
  hint,
  placeholder,
  error,
}: Props) {
  if (kind === 'kept') {
    return (
      <div data-secret>
        <p class="text-sm font-medium">{label}</p>
        <StoredSecret
          what={label.toLowerCase()}
          onReplace={() => onValue({ kind: 'secret', text: '' })}
          onRemove={() => onValue({ kind: 'none', text: '' })}
          error={error}
        />
      </div>
    );
  }
  return (
    <div class="flex flex-col gap-2" data-secret>
      <TextArea
        label={label}
        mono
        rows={3}
        value={text}
        placeholder={placeholder}
        hint={hint}
        error={error}
        autocapitalize="off"
        spellcheck={false}
        onValue={(written) =>
          onValue({ kind: kind === 'secret' ? 'secret' : written === '' ? 'none' : 'plain', text: written })
        }
      />
      <CheckField
        label="Secret (write-only)"
        hint={secretHint}
        checked={kind === 'secret'}
        onChecked={(isSecret) => onValue({ kind: isSecret ? 'secret' : text === '' ? 'none' : 'plain', text })}
      />
      {isStored && <KeepStored what={label.toLowerCase()} onKeep={() => onValue({ kind: 'kept', text: '' })} />}
    </div>
  );
}

/** A stored secret, which cannot be shown, with buttons to replace or remove it. */
export function StoredSecret({
  what,
  onReplace,
  onRemove,
  error,
}: {
  what: string;
  onReplace: () => void;
  onRemove?: () => void;
  error?: string | undefined;
}) {
  return (
    <div
      class="
      mt-1 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md border border-line bg-sunken px-3 py-2 text-sm
    "
    >
      <span class="min-w-0 flex-1 basis-40 text-soft">{error ?? 'Stored secret. It can be replaced, not shown.'}</span>
      <Button
        size="small"
        data-first
        aria-label={`Replace ${what}`}
        onClick={(event) => {
          focusInstead(event.currentTarget);
          onReplace();
        }}
      >
        Replace
      </Button>
      {onRemove !== undefined && (
        <Button size="small" tone="quiet" onClick={onRemove} aria-label={`Remove ${what}`}>
          Remove
        </Button>
      )}
    </div>
  );
}

/** A button that keeps the stored secret after all. */
export function KeepStored({ what, onKeep }: { what: string; onKeep: () => void }) {
  return (
    <Button
      size="small"
      tone="quiet"
      class="-ml-2.5 self-start justify-self-start md:col-start-2"
      aria-label={`Keep the stored ${what}`}
      onClick={(event) => {
        focusInstead(event.currentTarget);
        onKeep();
      }}
    >
      Keep stored
    </Button>
  );
}
