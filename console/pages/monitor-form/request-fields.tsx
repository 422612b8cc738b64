import { useRef } from 'preact/hooks';
import { Button, IconButton } from '../../parts/button.tsx';
import { CheckField, SelectField } from '../../parts/choice-fields.tsx';
import { TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { removeHeader, type HeaderDraft, type RequestDraft } from './draft.ts';
import {
  Collapsible,
  FieldProblem,
  KeepStored,
  SecretTextField,
  StoredSecret,
  focusInstead,
  focusLastRow,
} from './fields.tsx';
import { headerField } from './judge-spec.ts';
import type { FormState } from './problems.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((value) => ({ value, label: value }));

/** The http request beyond its URL: method, headers, credentials and body. */
export function RequestFields({ form }: { form: FormState }) {
  const { draft, change, problem } = form;
  const { request } = draft;
  const set = (part: Partial<RequestDraft>) => change({ request: { ...request, ...part } });
  const note = noteOf(form);
  return (
    <Collapsible
      title="Request"
      note={note}
      isOpen={
        request.headers.length > 0 || request.auth.type !== '' || request.body.kind !== 'none' || request.traceparent
      }
    >
      <div class="grid gap-5 md:grid-cols-2">
        <SelectField
          label="Method"
          value={(draft.method === '' ? 'GET' : draft.method).toUpperCase()}
          options={METHODS}
          error={problem('method')}
          hint="HEAD has no response body."
          onValue={(method) => change({ method })}
        />
        <div class="md:pt-7">
          <CheckField
            label="Follow redirects"
            checked={draft.followRedirects}
            onChecked={(followRedirects) => change({ followRedirects })}
            hint="If off, the first response is checked."
          />
        </div>
      </div>
      <HeaderList
        headers={request.headers}
        onHeaders={(headers) => set({ headers })}
        kinds={['plain', 'secret']}
        problem={problem}
      />
      <Auth form={form} set={set} />
      <SecretTextField
        label="Request body"
        value={request.body}
        isStored={form.monitor?.check_spec.request?.bodySecret === true}
        onValue={(body) => set({ body })}
        placeholder={'{"ping": true}'}
        hint="Sent with every check."
        secretHint="Write-only: stored encrypted, never shown again."
        error={problem('check_spec.request.body')}
      />
      <TextField
        label="Content type"
        value={request.contentType}
        placeholder="application/json"
        hint="Content-Type header; omitted if empty."
        autocapitalize="off"
        spellcheck={false}
        error={problem('check_spec.request.contentType')}
        onValue={(contentType) => set({ contentType })}
      />
      <CheckField
        label="Send a traceparent"
        checked={request.traceparent}
        onChecked={(traceparent) => set({ traceparent })}
        hint="Puts the target’s spans into the trace of the check (W3C Trace Context)."
        error={problem('check_spec.request.traceparent') ?? null}
      />
    </Collapsible>
  );
}

function noteOf({ draft: { method, request, followRedirects } }: FormState): string {
  const { headers, auth, body, traceparent } = request;
  const sent = headers.filter(({ kind }) => kind !== 'removed').length;
  const parts = [
    method === '' ? 'GET' : method.toUpperCase(),
    sent > 0 && count(sent, 'header'),
    auth.type !== '' && `${auth.type} auth`,
    body.kind !== 'none' && 'body',
    traceparent && 'traceparent',
    !followRedirects && 'no redirects',
  ];
  return parts.filter((part) => part !== false).join(', ');
}

type PartProps = { form: FormState; set: (part: Partial<RequestDraft>) => void };

type HeaderListProps = {
  headers: readonly HeaderDraft[];
  onHeaders: (headers: readonly HeaderDraft[]) => void;
  /** The kinds of headers that can be added. */
  kinds: readonly ('plain' | 'secret')[];
  /** Returns the error of a row (`headerField`), or of the list as a whole. */
  problem: (field: string) => string | undefined;
};

const ADD = { plain: 'Add header', secret: 'Add secret header' } as const;

/** Headers of a request; stored secrets are replaced or removed, never shown. */
export function HeaderList({ headers, onHeaders, kinds, problem }: HeaderListProps) {
  const replace = (index: number, part: Partial<HeaderDraft>) =>
    onHeaders(headers.map((header, at) => (at === index ? { ...header, ...part } : header)));
  const list = useRef<HTMLUListElement>(null);
  const add = (kind: 'plain' | 'secret') => {
    onHeaders([...headers, { name: '', value: '', kind, isStored: false }]);
    focusLastRow(list.current);
  };
  return (
    <fieldset class="min-w-0">
      <legend class="text-sm font-medium">Headers</legend>
      <p class="text-[0.8125rem] leading-5 text-soft">
        Secret values are write-only: stored encrypted, never shown again.
      </p>
      <FieldProblem text={problem('check_spec.request.headers')} />
      <ul ref={list} class="mt-1.5 flex flex-col gap-3 empty:hidden md:gap-2">
        {headers.map((header, index) => (
          <li key={index}>
            <HeaderRow
              header={header}
              index={index}
              error={problem(headerField(index))}
              onChange={(part) => replace(index, part)}
              onRemove={() => onHeaders(removeHeader(headers, index))}
            />
          </li>
        ))}
      </ul>
      <div class="mt-2 flex flex-wrap gap-2">
        {kinds.map((kind) => (
          <Button key={kind} size="small" icon={kind === 'plain' ? 'plus' : 'key'} onClick={() => add(kind)}>
            {ADD[kind]}
          </Button>
        ))}
      </div>
    </fieldset>
  );
}

function HeaderRow({
  header: { name, value, kind, isStored },
  index,
  error,
  onChange,
  onRemove,
}: {
  header: HeaderDraft;
  index: number;
  error: string | undefined;
  onChange: (part: Partial<HeaderDraft>) => void;
  onRemove: () => void;
}) {
  const called = name === '' ? `header ${index + 1}` : name;
  if (kind === 'removed') {
    return (
      <p class="flex flex-wrap items-center gap-2 text-sm" data-secret>
        <span class="text-soft">
          <span class="line-through">{name}</span> will be removed when you save.
        </span>
        <Button size="small" aria-label={`Keep ${name}`} onClick={() => onChange({ kind: 'kept' })}>
          Keep it
        </Button>
      </p>
    );
  }
  return (
    <div class="flex items-start gap-1" data-secret>
      <div class="grid min-w-0 flex-1 gap-1.5 md:grid-cols-[2fr_3fr]">
        {isStored ? (
          <span class="clipped flex h-9 items-center rounded-md border border-line bg-sunken px-3 text-sm">{name}</span>
        ) : (
          <TextField
            label={`Name of header ${index + 1}`}
            hideLabel
            value={name}
            placeholder="Name"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            error={error}
            onValue={(written) => onChange({ name: written })}
          />
        )}
        {kind === 'kept' ? (
          <div
            class="
            flex h-9 items-center justify-between gap-2 rounded-md border border-line bg-sunken pl-3 pr-1 text-sm
            text-soft
          "
          >
            <span class="clipped">Stored secret</span>
            <Button
              size="small"
              tone="quiet"
              class="h-7"
              data-first
              aria-label={`Replace the value of ${called}`}
              onClick={(event) => {
                focusInstead(event.currentTarget);
                onChange({ kind: 'secret', value: '' });
              }}
            >
              Replace
            </Button>
          </div>
        ) : (
          <TextField
            label={kind === 'secret' ? `Secret value of ${called}` : `Value of ${called}`}
            hideLabel
            type={kind === 'secret' ? 'password' : 'text'}
            value={value}
            placeholder={kind === 'secret' ? 'Secret value' : 'Value'}
            autocomplete={kind === 'secret' ? 'new-password' : 'off'}
            autocapitalize="off"
            spellcheck={false}
            error={isStored ? error : undefined}
            onValue={(written) => onChange({ value: written })}
          />
        )}
        {isStored && kind === 'secret' && (
          <KeepStored what={`value of ${called}`} onKeep={() => onChange({ kind: 'kept', value: '' })} />
        )}
      </div>
      <IconButton icon="close" label={`Remove ${called}`} onClick={onRemove} />
    </div>
  );
}

const AUTH_TYPES = [
  { value: '', label: 'None' },
  { value: 'bearer', label: 'Bearer token' },
  { value: 'basic', label: 'Basic (user name and password)' },
];

function Auth({ form: { draft, monitor, problem }, set }: PartProps) {
  const { auth } = draft.request;
  const stored = monitor?.check_spec.request?.auth?.type ?? '';
  const change = (part: Partial<RequestDraft['auth']>) => set({ auth: { ...auth, ...part } });
  return (
    <div class="flex flex-col gap-3" data-secret>
      <SelectField
        label="Authentication"
        value={auth.type}
        options={AUTH_TYPES}
        hint="Authorization header, stored encrypted."
        error={problem('check_spec.request.auth')}
        onValue={(value) => {
          const type = AUTH_TYPES.find((known) => known.value === value)?.value as RequestDraft['auth']['type'];
          change({ type, isKept: type !== '' && type === stored });
        }}
      />
      {auth.isKept && <StoredSecret what="credentials" onReplace={() => change({ isKept: false })} />}
      {!auth.isKept && auth.type === 'bearer' && (
        <TextField
          label="Token"
          type="password"
          autocomplete="new-password"
          value={auth.token}
          error={problem('check_spec.request.auth.token')}
          onValue={(token) => change({ token })}
        />
      )}
      {!auth.isKept && auth.type === 'basic' && (
        <div class="grid gap-5 md:grid-cols-2">
          <TextField
            label="User name"
            autocomplete="off"
            autocapitalize="off"
            value={auth.username}
            error={problem('check_spec.request.auth.username')}
            onValue={(username) => change({ username })}
          />
          <TextField
            label="Password"
            type="password"
            autocomplete="new-password"
            value={auth.password}
            error={problem('check_spec.request.auth.password')}
            onValue={(password) => change({ password })}
          />
        </div>
      )}
      {!auth.isKept && auth.type !== '' && auth.type === stored && (
        <KeepStored what="credentials" onKeep={() => change({ isKept: true })} />
      )}
    </div>
  );
}
