import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Choices } from '../../parts/choice-fields.tsx';
import { CopyButton, useCopy } from '../../parts/copy.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { JsonText } from '../../parts/object-page.tsx';
import { Badge } from '../../parts/status.tsx';
import {
  LANGUAGES,
  credentialOf,
  follow,
  sampleOf,
  type Answer,
  type Content,
  type Credential,
  type Description,
  type Example,
  type Language,
  type Method,
  type Operation,
  type Parameter,
} from './description.ts';
import { FieldLine, SchemaFields, Unfold } from './fields.tsx';
import { TryIt } from './try-it.tsx';

const METHODS: Record<Method, string> = {
  get: 'text-accent',
  head: 'text-accent',
  post: 'text-up',
  patch: 'text-degraded',
  delete: 'text-down',
};

const CALLERS: Record<Credential, string> = {
  token: 'API token or session',
  session: 'Session only',
  agent: 'Agent token',
  none: 'No authentication',
};

/** Labels of the places of a parameter. */
const PARAMETER_LOCATIONS: Readonly<Record<string, string>> = {
  path: 'Path parameters',
  query: 'Query parameters',
  header: 'Headers',
};

/** The method of an operation, in its color; `event` for those that webhooks receive. */
function MethodName({ operation: { method, server } }: { operation: Operation }) {
  return (
    <span class={`shrink-0 font-mono text-xs font-semibold uppercase ${METHODS[method]}`}>
      {server === null ? 'event' : method}
    </span>
  );
}

type OperationProps = { description: Description; operation: Operation };

/** One operation on its own screen: its effect and parameters, and beside them code, examples and a form to try it. */
export function OperationPart({ description, operation }: OperationProps) {
  const { path, summary, server, operationId } = operation;
  const heading = useFocus(operationId);
  const body = operation.requestBody === undefined ? null : follow(description, operation.requestBody);
  const examples = listExamples(description, body?.content);
  const canTry = server !== null && ['token', 'none'].includes(credentialOf(operation));
  return (
    <article key={operationId} id={`operation-${operationId}`}>
      <h2 ref={heading} tabIndex={-1} class="heading text-lg outline-none">
        {summary}
      </h2>
      <p class="mb-4 mt-1 flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <MethodName operation={operation} />
        <code class="min-w-0 break-all font-mono text-[0.8125rem]">{path}</code>
      </p>
      <div class="grid grid-cols-1 gap-x-8 gap-y-5 xl:grid-cols-2">
        <About description={description} operation={operation} />
        <div
          class="
            grid min-w-0 grid-cols-1 content-start gap-5 xl:sticky xl:top-4 xl:max-h-[calc(100dvh-2rem)] xl:self-start
            xl:overflow-y-auto xl:px-1
          "
        >
          {server !== null && <CodeSample operation={operation} example={examples[0]?.value} />}
          {examples.length > 0 && (
            <Part title={server === null ? 'Example' : 'Example request'}>
              <Examples label="Example body" examples={examples} />
            </Part>
          )}
          <ResponseExample description={description} operation={operation} />
          {canTry && (
            <Part title="Try it">
              <TryIt operation={operation} example={examples[0]?.value} />
            </Part>
          )}
        </div>
      </div>
    </article>
  );
}

/** Moves the focus to the heading of an operation that was opened after the page, and shows its beginning. */
function useFocus(operationId: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    heading.current?.closest('main')?.scrollTo(0, 0);
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [operationId]);
  return heading;
}

function About({ description, operation }: OperationProps) {
  const { description: text, parameters, requestBody, responses, server, operationId } = operation;
  const body = requestBody === undefined ? null : follow(description, requestBody);
  const bodySchema = body?.content['application/json']?.schema;
  const answers = Object.entries(responses);
  const failures = answers.filter(([status]) => !status.startsWith('2'));
  const lineOf = ([status, answer]: (typeof answers)[number]) => (
    <AnswerLine key={status} status={status} answer={follow(description, answer)} description={description} />
  );
  return (
    <div class="grid min-w-0 grid-cols-1 content-start gap-5">
      <div class="grid grid-cols-1 gap-2 text-sm">
        {text !== undefined && <Markdown text={text} />}
        <p class="flex flex-wrap items-center gap-2 text-[0.8125rem] text-soft">
          <code class="font-mono">{operationId}</code>
          {server !== null && <Badge>{CALLERS[credentialOf(operation)]}</Badge>}
          {operation['x-role'] !== undefined && <Badge tone="warning">{`role: ${operation['x-role']}`}</Badge>}
          {operation['x-operator'] === true && <Badge tone="warning">operators</Badge>}
          {operation['x-extension'] === true && <Badge>extension</Badge>}
        </p>
      </div>
      {Object.entries(PARAMETER_LOCATIONS).map(([location, title]) => (
        <Parameters
          key={location}
          title={title}
          description={description}
          parameters={parameters.filter((each) => each.in === location)}
        />
      ))}
      {bodySchema !== undefined && (
        <Part title={body?.required === false ? 'Request body (optional)' : 'Request body'}>
          <SchemaFields description={description} schema={bodySchema} />
        </Part>
      )}
      <Part title={server === null ? 'Your response' : 'Responses'}>
        <ul class="divide-y divide-line rounded-lg border border-line">
          {answers.filter(([status]) => status.startsWith('2')).map(lineOf)}
        </ul>
        {failures.length > 0 && (
          <Unfold label={`Errors: ${failures.map(([status]) => status).join(', ')}`}>
            {() => <ul class="divide-y divide-line rounded-lg border border-line">{failures.map(lineOf)}</ul>}
          </Unfold>
        )}
      </Part>
    </div>
  );
}

/** The example of the successful response; nothing if it has none. */
function ResponseExample({ description, operation: { responses } }: OperationProps) {
  const [, answer] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const examples = answer === undefined ? [] : listExamples(description, follow(description, answer).content);
  if (examples.length === 0) return null;
  return (
    <Part title="Example response">
      <Examples label="Example response" examples={examples} />
    </Part>
  );
}

const LANGUAGE_CHOICES = (Object.keys(LANGUAGES) as Language[]).map((value) => ({ value, label: LANGUAGES[value] }));

/** Code that calls the operation, in the language of choice, with a copy button. */
function CodeSample({ operation, example }: { operation: Operation; example: unknown }) {
  const language = useSignal<Language>('curl');
  const text = sampleOf(language.value, operation, example);
  const copying = useCopy<HTMLPreElement>(text);
  return (
    <div class="min-w-0">
      <div class="flex flex-wrap items-center justify-between gap-2 pb-1.5">
        <Choices
          label="Language"
          choices={LANGUAGE_CHOICES}
          value={language.value}
          onValue={(value) => (language.value = value)}
        />
        <CopyButton copying={copying} size="small" tone="quiet" />
      </div>
      <pre
        ref={copying.box}
        tabIndex={0}
        role="group"
        aria-label={`${LANGUAGES[language.value]} code for ${operation.operationId}`}
        class="max-h-96 overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5"
      >
        {text}
      </pre>
    </div>
  );
}

function Parameters({
  title,
  description,
  parameters,
}: {
  title: string;
  description: Description;
  parameters: readonly Parameter[];
}) {
  if (parameters.length === 0) return null;
  return (
    <Part title={title}>
      <ul class="divide-y divide-line rounded-lg border border-line">
        {parameters.map(({ name, required = false, description: text, schema = {} }) => (
          <FieldLine
            key={name}
            name={name}
            description={description}
            schema={schema}
            isRequired={required}
            text={text}
          />
        ))}
      </ul>
    </Part>
  );
}

function AnswerLine({ status, answer, description }: { status: string; answer: Answer; description: Description }) {
  const schema = answer.content?.['application/json']?.schema;
  const others = Object.keys(answer.content ?? {}).filter((type) => type !== 'application/json');
  const isGood = status.startsWith('2');
  return (
    <li class="px-3 py-2 text-sm">
      <div class="flex gap-3">
        <span class={`shrink-0 font-mono text-[0.8125rem] font-medium ${isGood ? 'text-up' : 'text-soft'}`}>
          {status}
        </span>
        <div class="min-w-0 flex-1">
          <Markdown text={answer.description} class={isGood ? '' : 'text-soft'} />
          {others.length > 0 && <p class="text-xs text-soft">Also: {others.join(', ')}.</p>}
          {isGood && schema !== undefined && (
            <Unfold label="Fields">{() => <SchemaFields description={description} schema={schema} />}</Unfold>
          )}
        </div>
      </div>
    </li>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="min-w-0">
      <h3 class="mb-1.5 text-xs font-medium text-soft">{title}</h3>
      {children}
    </div>
  );
}

type NamedExample = { name: string; title: string; value: unknown };

/** Returns the examples of a request or response as JSON; empty if there are none. */
function listExamples(description: Description, content: Content | undefined): NamedExample[] {
  return Object.entries(content?.['application/json']?.examples ?? {}).map(([name, raw]) => {
    const example: Example = follow(description, raw);
    return { name, title: example.summary ?? name, value: example.value };
  });
}

/** Examples, one at a time. */
function Examples({ label, examples }: { label: string; examples: readonly NamedExample[] }) {
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
      <JsonText value={shown.value} label={`${label}: ${shown.title}`} class="max-h-96" />
    </div>
  );
}
