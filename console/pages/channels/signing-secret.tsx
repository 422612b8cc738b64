import { useSignal } from '@preact/signals';
import { Choices } from '../../parts/choice-fields.tsx';
import { CopyText, CopyButton, useCopy } from '../../parts/copy.tsx';
import { Icon } from '../../parts/icon.tsx';
import go from '../../samples/verify.go?raw';
// oxlint-disable-next-line import/default -- `?raw` gives the file's text, whatever it exports.
import node from '../../samples/verify.mjs?raw';
import php from '../../samples/verify.php?raw';
import python from '../../samples/verify.py?raw';

/** A signing secret, shown only once, and how to use it. */
export function SigningSecret({ secret }: { secret: string }) {
  return (
    <div class="flex flex-col gap-5">
      <div>
        <p class="mb-2 flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded">
          <Icon name="key" class="mt-0.5 size-4" />
          <span>Save the signing secret now: it’s shown only once. Rotate to get a new one.</span>
        </p>
        <CopyText text={secret} label="Signing secret" />
      </div>
      <div>
        <h3 class="heading text-sm">Verify deliveries</h3>
        <p class="mb-2 text-sm text-soft">
          Verify the signature over the raw body, and respond with 2xx within 8 seconds.
        </p>
        <SampleCode />
      </div>
    </div>
  );
}

const SAMPLES = {
  node: { label: 'Node', code: node },
  python: { label: 'Python', code: python },
  go: { label: 'Go', code: go },
  php: { label: 'PHP', code: php },
} as const;
type Language = keyof typeof SAMPLES;
const CHOICES = (Object.keys(SAMPLES) as Language[]).map((value) => ({ value, label: SAMPLES[value].label }));

/** Sample code that verifies the signature of a delivery, in several languages. */
export function SampleCode() {
  const language = useSignal<Language>('node');
  const { label, code } = SAMPLES[language.value];
  const copying = useCopy<HTMLPreElement>(code);
  return (
    <div>
      <div class="flex flex-wrap items-center justify-between gap-2">
        <Choices
          label="Language"
          choices={CHOICES}
          value={language.value}
          onValue={(value) => (language.value = value)}
        />
        <CopyButton copying={copying} size="small" />
      </div>
      <pre
        ref={copying.box}
        tabIndex={0}
        aria-label={`${label} code that verifies a delivery`}
        class="mt-2 max-h-96 overflow-auto rounded-md border border-line bg-sunken p-3 font-mono text-xs leading-5"
      >
        {code}
      </pre>
    </div>
  );
}
