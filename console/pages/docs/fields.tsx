import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Badge } from '../../parts/badge.tsx';
import { Icon } from '../../parts/icon.tsx';
import { follow, type Description, type Schema } from './description.ts';
import { Prose } from './prose.tsx';
import { listObjects, describeLimits, describeType } from './schema-words.ts';

/** The fields of what is sent or answered; those of objects within unfold. */
export function SchemaFields({ description, schema }: { description: Description; schema: Schema }) {
  const objects = listObjects(description, schema);
  if (objects.length === 0)
    return (
      <p class="text-sm text-soft">{follow(description, schema).description ?? describeType(description, schema)}</p>
    );
  return (
    <>
      {objects.map((object, index) => (
        <div key={index}>
          {index > 0 && <p class="my-1 text-xs text-soft">or</p>}
          <ul class="divide-y divide-line rounded-lg border border-line">
            {Object.entries(object.properties ?? {}).map(([name, field]) => (
              <FieldLine
                key={name}
                name={name}
                description={description}
                schema={field}
                isRequired={object.required?.includes(name) ?? false}
              />
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

/** One value by its name: what it is, what it has to keep to, and what it means. */
export function FieldLine({
  description,
  name,
  schema,
  isRequired,
  text,
}: {
  description: Description;
  name: string;
  schema: Schema;
  isRequired: boolean;
  text?: string | undefined;
}) {
  const whole = follow(description, schema);
  const limits = describeLimits(description, schema);
  const said = text ?? whole.description;
  return (
    <li class="px-3 py-2 text-sm">
      <div class="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
        <code class="break-all font-mono text-[0.8125rem] font-medium">{name}</code>
        <span class="min-w-0 break-words text-xs text-soft">
          {describeType(description, schema)}
          {limits !== '' && `, ${limits}`}
        </span>
        {isRequired && <Badge>required</Badge>}
      </div>
      {said !== undefined && <Prose text={said} class="mt-0.5 text-[0.8125rem] text-soft" />}
      {listObjects(description, schema).length > 0 && (
        <Unfold label={`Fields of ${name}`}>{() => <SchemaFields description={description} schema={schema} />}</Unfold>
      )}
    </li>
  );
}

/** Content that is rendered when it is opened. */
export function Unfold({
  label,
  children,
  isOpenAtFirst = false,
}: {
  label: string;
  children: () => ComponentChildren;
  isOpenAtFirst?: boolean;
}) {
  const isOpen = useSignal(isOpenAtFirst);
  const id = useId();
  return (
    <div class="mt-1">
      <button
        type="button"
        aria-expanded={isOpen.value}
        aria-controls={id}
        onClick={() => (isOpen.value = !isOpen.value)}
        class="inline-flex items-center gap-1 rounded text-[0.8125rem] text-accent hover:underline"
      >
        <Icon name="chevron" class={`size-3.5 ${isOpen.value ? 'rotate-90' : ''}`} />
        {label}
      </button>
      <div id={id} class="mt-1 empty:hidden">
        {isOpen.value && children()}
      </div>
    </div>
  );
}
