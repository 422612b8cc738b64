import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Badge } from '../../parts/badge.tsx';
import { Icon } from '../../parts/icon.tsx';
import { CodeBlock } from './code-block.tsx';
import { credentialOf, curlOf, type Credential } from './curl.ts';
import { follow, type Answer, type Description, type Method, type Operation, type Parameter } from './description.ts';
import { Examples, listExamples } from './examples.tsx';
import { FieldLine, SchemaFields, Unfold } from './fields.tsx';
import { Prose } from './prose.tsx';

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

/** Where a parameter stands, in words. */
const PARAMETER_LOCATIONS: Readonly<Record<string, string>> = {
  path: 'In the path',
  query: 'In the query',
  header: 'Headers',
};

/** One operation in a line, which unfolds. */
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
