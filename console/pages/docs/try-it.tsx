import { signal, useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { parseJson } from '../../../core/foreign-text.ts';
import { session } from '../../client/session-state.ts';
import { required, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { Form, TextArea, TextField } from '../../parts/field.tsx';
import { JsonText } from '../../parts/object-page.tsx';
import { Badge } from '../../parts/status.tsx';
import { formatLatency } from '../../parts/time.tsx';
import { credentialOf, type Operation, type Parameter } from './description.ts';

/** The typed token, for all operations; it is discarded when the page is reloaded, or the session ends. */
const token = signal('');
session.subscribe((value) => {
  if (value === null) token.value = '';
});

/** Time limit for waiting for a response and reading it, in milliseconds: a stream has no end. */
const PATIENCE_MS = 10_000;

/** Most bytes of a response that are read. */
const MAX_READ = 200_000;

/** The response. `isCut`: it was longer, or took too long. */
type Result = { status: number; durationMs: number; text: string; isCut: boolean };

/** A form that sends an operation's request with a token, and shows the response. */
export function TryIt({ operation, example }: { operation: Operation; example: unknown }) {
  const { parameters, requestBody, method } = operation;
  const values = useSignal<Readonly<Record<string, string>>>({});
  const body = useSignal(example === undefined ? '' : JSON.stringify(example, null, 2));
  const result = useSignal<Result | null>(null);
  const form = useJudgedForm({});
  const problem = useSignal<string | null>(null);
  const outcome = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // The response appears below the button, which may be at the edge of the screen.
    if (result.value !== null || problem.value !== null) outcome.current?.scrollIntoView({ block: 'nearest' });
  }, [result.value, problem.value]);
  const inputs = parameters.filter((each) => each.in === 'path' || each.in === 'query');
  const needsToken = credentialOf(operation) === 'token';
  const judge = () => ({
    ...(needsToken && { token: required(token.value.trim(), 'Enter an API token') }),
    ...Object.fromEntries(
      inputs
        .filter((input) => input.required === true)
        .map((input) => [keyOf(input), required(values.value[input.name] ?? '', 'Enter a value')]),
    ),
  });
  const send = () => {
    problem.value = null;
    result.value = null;
    return form.submit(judge(), async () => {
      try {
        result.value = await sendRequest(operation, {
          values: values.value,
          token: needsToken ? token.value.trim() : null,
          body: requestBody === undefined || body.value.trim() === '' ? null : body.value,
        });
      } catch (failure) {
        problem.value = describeFailure(failure);
      }
    });
  };
  return (
    <Form class="flex flex-col gap-3 rounded-lg border border-line p-3" onSubmit={send}>
      {needsToken && (
        <TextField
          label="API token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          placeholder="spk_…"
          hint="Kept in this tab only, until you reload."
          required
          value={token.value}
          error={form.problem('token')}
          onValue={(value) => (token.value = value)}
        />
      )}
      {inputs.map((input) => (
        <TextField
          key={keyOf(input)}
          label={input.required === true ? input.name : `${input.name} (optional)`}
          required={input.required === true}
          value={values.value[input.name] ?? ''}
          error={form.problem(keyOf(input))}
          onValue={(value) => (values.value = { ...values.value, [input.name]: value })}
        />
      ))}
      {requestBody !== undefined && (
        <TextArea
          label="Request body"
          mono
          rows={8}
          spellcheck={false}
          value={body.value}
          onValue={(value) => (body.value = value)}
        />
      )}
      <div class="flex flex-wrap items-center gap-3">
        <Button type="submit" tone="primary" size="small" busy={form.isBusy.value}>
          Send request
        </Button>
        {method !== 'get' && <span class="text-xs text-soft">This changes real data.</span>}
      </div>
      <div ref={outcome} role="status" class="scroll-mb-4 empty:hidden">
        {problem.value !== null && <p class="text-sm text-down">{problem.value}</p>}
        {result.value !== null && <Shown result={result.value} />}
      </div>
    </Form>
  );
}

/** Returns a unique key: a path and a query parameter may have the same name. */
function keyOf({ name, in: location }: Parameter): string {
  return `${location} ${name}`;
}

function Shown({ result: { status, durationMs, text, isCut } }: { result: Result }) {
  const json = parseJson(text);
  return (
    <div class="grid grid-cols-1 gap-2">
      <p class="flex items-center gap-2 text-xs text-soft">
        <Badge tone={status < 400 ? 'good' : 'bad'}>{`HTTP ${status}`}</Badge>
        {formatLatency(durationMs)}
        {isCut && ' · response cut'}
      </p>
      {json !== undefined && <JsonText value={json} label="Response" class="max-h-96" />}
      {json === undefined && text !== '' && (
        <pre
          tabIndex={0}
          role="group"
          aria-label="Response"
          class="max-h-96 overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5"
        >
          {text}
        </pre>
      )}
    </div>
  );
}

type Filled = { values: Readonly<Record<string, string>>; token: string | null; body: string | null };

/** Sends the request to this installation, with the token and without the user's session. */
async function sendRequest(operation: Operation, { values, token: given, body }: Filled): Promise<Result> {
  const { method, path, server, parameters } = operation;
  const base = new URL(server ?? '', window.location.origin).pathname.replace(/\/$/, '');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = new URLSearchParams(
    parameters
      .filter(({ name, in: location }) => location === 'query' && (values[name] ?? '') !== '')
      .map(({ name }) => [name, values[name] ?? '']),
  ).toString();
  const startedMs = performance.now();
  const response = await fetch(`${base}${filled}${query === '' ? '' : `?${query}`}`, {
    method: method.toUpperCase(),
    headers: {
      ...(given !== null && { Authorization: `Bearer ${given}` }),
      ...(body !== null && { 'Content-Type': 'application/json' }),
    },
    ...(body !== null && { body }),
    credentials: 'omit',
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const { text, isCut } = await readText(response);
  return { status: response.status, durationMs: performance.now() - startedMs, text, isCut };
}

/** Reads a body up to its bounds in bytes and time. */
async function readText({ body }: Response): Promise<{ text: string; isCut: boolean }> {
  if (body === null) return { text: '', isCut: false };
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let read = 0; read < MAX_READ;) {
      const { done, value } = await reader.read();
      if (done) return { text, isCut: false };
      read += value.length;
      text += decoder.decode(value, { stream: true });
    }
    await reader.cancel();
  } catch (failure) {
    if (!isTimeout(failure)) throw failure;
  }
  return { text, isCut: true };
}

function describeFailure(failure: unknown): string {
  if (isTimeout(failure)) return `No response within ${PATIENCE_MS / 1000} s`;
  return 'The request could not be sent. Check the token and your connection.';
}

function isTimeout(failure: unknown): boolean {
  return failure instanceof DOMException && ['TimeoutError', 'AbortError'].includes(failure.name);
}
