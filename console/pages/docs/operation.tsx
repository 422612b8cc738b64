import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Choices } from '../../parts/choices.tsx';
import { CopyButton, useCopy } from '../../parts/copy.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Badge } from '../../parts/status.tsx';
import {
  follow,
  type Answer,
  type Description,
  type Method,
  type Operation,
  type Parameter,
  type Content,
  type Example,
} from './description.ts';
import { FieldLine, SchemaFields, Unfold } from './fields.tsx';
import { Prose } from './prose.tsx';

/** The kind of credential that an operation takes. */
type Credential = 'token' | 'session' | 'agent' | 'none';

/** The credential that an operation requires. */
function credentialOf({ security }: Operation): Credential {
  if (security === undefined) return 'token';
  if (security.some((each) => 'session' in each)) return 'session';
  return security.some((each) => 'agentToken' in each) ? 'agent' : 'none';
}

const HEADERS: Record<Credential, readonly string[]> = {
  token: ['-H \'Authorization: Bearer \'"$SPOTCHECK_TOKEN"'],
  agent: ['-H \'Authorization: Bearer \'"$SPOTCHECK_AGENT_TOKEN"'],
  session: ['-b cookies.txt'],
  none: [],
};

/** A curl command for an operation; path parameters are shell variables. */
function curlOf(operation: Operation, example: unknown): string {
  const { method, path, server, parameters } = operation;
  const credential = credentialOf(operation);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${variableOf(parameters, name)}`);
  const address = `${server ?? ''}${filled}${queryOf(parameters)}`;
  const parts = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "${address}"`,
    ...HEADERS[credential],
    // Other operations of users need the cookie that this one sets.
    ...(operation.operationId === 'signIn' ? ['-c cookies.txt'] : []),
    ...(credential === 'session' && method !== 'get' ? ['-H \'X-CSRF-Token: \'"$CSRF_TOKEN"'] : []),
    ...(example === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          `-d '${JSON.stringify(example, null, 2).replaceAll("'", String.raw`'\''`)}'`,
        ]),
  ];
  return parts.join(' \\\n  ');
}

function variableOf(parameters: readonly Parameter[], name: string): string {
  const kind = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema?.['x-id'];
  return name === 'id' && kind !== undefined ? `${kind.toUpperCase()}_ID` : name.toUpperCase();
}

/** The query with the required parameters only. */
function queryOf(parameters: readonly Parameter[]): string {
  const names = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required === true)
    .map(({ name }) => `${name}=$${name.toUpperCase()}`);
  return names.length === 0 ? '' : `?${names.join('&')}`;
}

type OperationProps = { description: Description; operation: Operation; isOpen: boolean; onToggle: () => void };

const METHODS: Record<Method, string> = {
  get: 'text-accent',
  head: 'text-accent',
  post: 'text-up',
  patch: 'text-degraded',
  delete: 'text-down',
};

const CALLERS: Record<Credential, string> = {
  token: 'API token, or a session',
  session: 'A session: for people alone',
  agent: 'Token of an agent',
  none: 'Open to everybody',
};

/** Labels of the places of a parameter. */
const PARAMETER_LOCATIONS: Readonly<Record<string, string>> = {
  path: 'In the path',
  query: 'In the query',
  header: 'Headers',
};

/** One operation as a line that unfolds. */
export function OperationPart({ description, operation, isOpen, onToggle }: OperationProps) {
  const { method, path, server, summary, operationId } = operation;
  const id = useId();
  return (
    <li id={`operation-${operationId}`} class="scroll-mt-4">
      <h3>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={onToggle}
          class="flex w-full flex-wrap items-center gap-x-3 gap-y-0.5 px-4 py-2.5 text-left hover:bg-hover"
        >
          <span class={`w-14 shrink-0 font-mono text-xs font-semibold uppercase ${METHODS[method]}`}>
            {server === null ? 'event' : method}
          </span>
          <code class="min-w-0 break-all font-mono text-[0.8125rem]">{path}</code>
          <span class="min-w-0 text-sm text-soft">{summary}</span>
          <Icon name="chevron" class={`ml-auto size-4 text-soft ${isOpen ? 'rotate-90' : ''}`} />
        </button>
      </h3>
      <div id={id} class="empty:hidden">
        {isOpen && <Details description={description} operation={operation} />}
      </div>
    </li>
  );
}

function Details({ description, operation }: { description: Description; operation: Operation }) {
  const { description: text, parameters, requestBody, responses, server, operationId } = operation;
  const body = requestBody === undefined ? null : follow(description, requestBody);
  const bodySchema = body?.content['application/json']?.schema;
  const examples = listExamples(description, body?.content);
  return (
    <div class="grid grid-cols-1 gap-5 border-t border-line px-4 pb-5 pt-3">
      <div class="grid gap-2 text-sm">
        {text !== undefined && <Prose text={text} />}
        <p class="flex flex-wrap items-center gap-2 text-[0.8125rem] text-soft">
          <code class="font-mono">{operationId}</code>
          {server !== null && <Badge>{CALLERS[credentialOf(operation)]}</Badge>}
          {operation['x-role'] !== undefined && <Badge tone="warning">{`role: ${operation['x-role']}`}</Badge>}
          {operation['x-operator'] === true && <Badge tone="warning">operators</Badge>}
          {operation['x-extension'] === true && <Badge>extension</Badge>}
        </p>
      </div>
      {server !== null && (
        <CodeBlock
          title="In a shell"
          label={`Command for ${operationId}`}
          text={curlOf(operation, examples[0]?.value)}
        />
      )}
      {Object.entries(PARAMETER_LOCATIONS).map(([location, title]) => (
        <Parameters
          key={location}
          title={title}
          description={description}
          parameters={parameters.filter((each) => each.in === location)}
        />
      ))}
      {bodySchema !== undefined && (
        <Part title={body?.required === false ? 'Body, if any' : 'Body'}>
          <div class="grid grid-cols-1 gap-2">
            <Examples label="Example body" examples={examples} />
            <SchemaFields description={description} schema={bodySchema} />
          </div>
        </Part>
      )}
      <Part title={server === null ? 'What you answer' : 'Answers'}>
        <ul class="divide-y divide-line rounded-lg border border-line">
          {Object.entries(responses).map(([status, answer]) => (
            <AnswerLine key={status} status={status} answer={follow(description, answer)} description={description} />
          ))}
        </ul>
      </Part>
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
  const examples = listExamples(description, answer.content);
  const others = Object.keys(answer.content ?? {}).filter((type) => type !== 'application/json');
  const isGood = status.startsWith('2');
  return (
    <li class="px-3 py-2 text-sm">
      <div class="flex gap-3">
        <span class={`shrink-0 font-mono text-[0.8125rem] font-medium ${isGood ? 'text-up' : 'text-soft'}`}>
          {status}
        </span>
        <div class="min-w-0 flex-1">
          <Prose text={answer.description} class={isGood ? '' : 'text-soft'} />
          {others.length > 0 && <p class="text-xs text-soft">Also as {others.join(', ')}.</p>}
          {isGood && examples.length > 0 && (
            <Unfold label="Example">{() => <Examples label={`Example answer ${status}`} examples={examples} />}</Unfold>
          )}
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
      <h4 class="mb-1.5 text-xs font-medium text-soft">{title}</h4>
      {children}
    </div>
  );
}

/** A block of code with a heading and a copy button. */
function CodeBlock({ title, label, text }: { title: string; label: string; text: string }) {
  const copying = useCopy<HTMLPreElement>(text);
  return (
    <div class="min-w-0">
      <div class="flex items-end justify-between gap-2 pb-1">
        <h4 class="text-xs font-medium text-soft">{title}</h4>
        <CopyButton copying={copying} size="small" tone="quiet" class="-my-1" />
      </div>
      <pre
        ref={copying.box}
        tabIndex={0}
        role="group"
        aria-label={label}
        class="max-h-96 overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5"
      >
        {text}
      </pre>
    </div>
  );
}

type NamedExample = { name: string; title: string; value: unknown };

/** The examples of a request or response as JSON; empty if there are none. */
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
