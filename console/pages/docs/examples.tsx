import { useSignal } from '@preact/signals';
import { Choices } from '../../parts/choices.tsx';
import { follow, type Content, type Description, type Example } from './description.ts';

export type NamedExample = { name: string; title: string; value: unknown };

/** The examples of a body or an answer in JSON; empty where it has none. */
export function listExamples(description: Description, content: Content | undefined): NamedExample[] {
  return Object.entries(content?.['application/json']?.examples ?? {}).map(([name, raw]) => {
    const example: Example = follow(description, raw);
    return { name, title: example.summary ?? name, value: example.value };
  });
}

/** Examples, one at a time. */
export function Examples({ label, examples }: { label: string; examples: readonly NamedExample[] }) {
  const name = useSignal(examples[0]?.name ?? '');
  const shown = examples.find((example) => example.name === name.value);
  if (shown === undefined) return null;
  return (
    <div class="grid grid-cols-1 gap-2">
      {examples.length > 1 && (
        <Choices
          label={label}
          choices={examples.map((example) => ({ value: example.name, label: example.title }))}
          value={name.value}
          onValue={(chosen) => (name.value = chosen)}
        />
      )}
      <pre
        tabIndex={0}
        role="group"
        aria-label={`${label}: ${shown.title}`}
        class="max-h-96 overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5"
      >
        {JSON.stringify(shown.value, null, 2)}
      </pre>
    </div>
  );
}
