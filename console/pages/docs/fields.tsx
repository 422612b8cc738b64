import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { formatNumber } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { Badge } from '../../parts/status.tsx';
import { follow, type Description, type Schema } from './description.ts';

/** Describes the type of a value: `string or null`, `array of integer`. */
function describeType(description: Description, schema: Schema): string {
  const whole = follow(description, schema);
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (whole.enum !== undefined) return whole.enum.map((value) => JSON.stringify(value)).join(', ');
  const options = whole.oneOf ?? (whole.type === undefined ? whole.anyOf : undefined);
  if (options !== undefined) return unique(options.map((option) => describeType(description, option))).join(' or ');
  if (whole.type === undefined) return 'any';
  const types = typeof whole.type === 'string' ? [whole.type] : whole.type;
  return types
    .map((type) =>
      type === 'array' && whole.items !== undefined ? `array of ${describeType(description, whole.items)}` : type,
    )
    .join(' or ');
}

/** Describes the limits of a value: `1 to 255 characters`; empty if it has none. */
function describeLimits(description: Description, schema: Schema): string {
  const { minLength, maxLength, minimum, exclusiveMinimum, maximum, minItems, maxItems, pattern } = follow(
    description,
    schema,
  );
  return [
    range(minLength, maxLength, ' characters'),
    range(minimum, maximum, ''),
    exclusiveMinimum === undefined ? '' : `more than ${exclusiveMinimum}`,
    range(minItems, maxItems, ' items'),
    pattern === undefined ? '' : `matches ${pattern}`,
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** Lists the objects that a value can be, itself or as a list item; empty if it is none. */
function listObjects(description: Description, schema: Schema): Schema[] {
  const whole = follow(description, schema);
  if (whole.properties !== undefined) return [whole];
  const parts = [
    ...(whole.oneOf ?? []),
    ...(whole.anyOf ?? []),
    ...(whole.items === undefined ? [] : [whole.items]),
    ...(typeof whole.additionalProperties === 'object' ? [whole.additionalProperties] : []),
  ];
  return parts.flatMap((part) => listObjects(description, part));
}

function range(from: number | undefined, to: number | undefined, unit: string): string {
  if (from === undefined) return to === undefined ? '' : `${formatNumber(to)}${unit} max`;
  if (to === undefined) return from === 0 ? '' : `${formatNumber(from)}${unit} min`;
  return `${formatNumber(from)} to ${formatNumber(to)}${unit}`;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

/** The fields of a request or response; nested objects unfold. */
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

/** One field: its name, type, limits and meaning. */
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
      {said !== undefined && <Markdown text={said} class="mt-0.5 text-[0.8125rem] text-soft" />}
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
        class="inline-flex items-center gap-1 rounded text-left text-[0.8125rem] text-accent hover:underline"
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
