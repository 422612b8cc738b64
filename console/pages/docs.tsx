import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { request } from '../client/request.ts';
import { session } from '../client/session-state.ts';
import { ButtonLink } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import { Loaded, useLoad } from '../parts/load.tsx';
import { Card, Page } from '../parts/page.tsx';
import type { PageProps } from '../paths.ts';
import { setQuery } from '../shell/router.ts';
import { isFound, listOperations, type Description } from './docs/description.ts';
import { OperationPart } from './docs/operation.tsx';
import { Prose } from './docs/prose.tsx';

/** The reference of the API, made from its description; open to everybody, like the description itself. */
export function DocsPage({ query }: PageProps) {
  const load = useLoad((signal) => request<Description>('GET', '/openapi.json', { signal }), []);
  const isOpen = session.value === null;
  const page = (
    <Page
      title="API"
      lead="Everything that this console shows and does can be asked for over HTTP."
      actions={
        <>
          {isOpen && <ButtonLink href="/sign-in">Sign in</ButtonLink>}
          <ButtonLink icon="external" href="/openapi.json" target="_blank">
            openapi.json
          </ButtonLink>
        </>
      }
    >
      <Loaded load={load} height="h-[60rem]">
        {(description) => <Docs description={description} first={query['operation'] ?? ''} />}
      </Loaded>
    </Page>
  );
  return isOpen ? <main class="h-full overflow-y-auto">{page}</main> : page;
}

function Docs({ description, first }: { description: Description; first: string }) {
  const tags = useMemo(() => listOperations(description), [description]);
  const open = useSignal<ReadonlySet<string>>(new Set([first]));
  const wanted = useSignal('');
  const words = wanted.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const shown = tags
    .map((tag) => ({ ...tag, operations: tag.operations.filter((operation) => isFound(operation, words)) }))
    .filter(({ operations }) => operations.length > 0);
  useEffect(() => {
    document.querySelector(`#operation-${CSS.escape(first)}`)?.scrollIntoView();
  }, []);
  const toggle = (id: string) => {
    const next = new Set(open.value);
    if (!next.delete(id)) next.add(id);
    open.value = next;
    setQuery({ operation: next.has(id) ? id : '' });
  };
  const show = (id: string) => {
    open.value = new Set([...open.value, id]);
    setQuery({ operation: id });
    // It has to be rendered before it can be scrolled to.
    requestAnimationFrame(() => {
      const part = document.querySelector(`#operation-${CSS.escape(id)}`);
      part?.scrollIntoView();
      part?.querySelector('button')?.focus({ preventScroll: true });
    });
  };
  return (
    <div class="gap-8 lg:grid lg:grid-cols-[13rem_minmax(0,1fr)]">
      <nav
        aria-label="Operations"
        class="hidden lg:sticky lg:top-4 lg:block lg:max-h-[calc(100dvh-2rem)] lg:self-start lg:overflow-y-auto"
      >
        {shown.map(({ name, operations }) => (
          <div key={name} class="mb-4">
            <h2 class="mb-1 text-xs font-semibold">{name}</h2>
            <ul>
              {operations.map(({ operationId, summary }) => (
                <li key={operationId}>
                  <button
                    type="button"
                    onClick={() => show(operationId)}
                    class="
                      block w-full rounded px-1.5 py-1 text-left text-[0.8125rem] leading-4 text-soft hover:bg-hover
                      hover:text-ink
                    "
                  >
                    {summary}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class="min-w-0">
        <TextField
          label="Find an operation"
          hideLabel
          placeholder="Find an operation, such as pause or /incidents"
          value={wanted.value}
          onValue={(value) => (wanted.value = value)}
          class="mb-5"
        />
        {words.length === 0 && <Prose text={description.info.description} class="mb-8 text-sm" />}
        {shown.map((tag) => (
          <section key={tag.name} class="mb-8">
            <h2 class="heading text-base">{tag.name}</h2>
            <Prose text={tag.description} class="mb-2.5 text-sm text-soft" />
            <Card class="overflow-hidden">
              <ul class="divide-y divide-line">
                {tag.operations.map((operation) => (
                  <OperationPart
                    key={operation.operationId}
                    description={description}
                    operation={operation}
                    isOpen={open.value.has(operation.operationId)}
                    onToggle={() => toggle(operation.operationId)}
                  />
                ))}
              </ul>
            </Card>
          </section>
        ))}
        {shown.length === 0 && (
          <p class="py-10 text-center text-sm text-soft">Nothing in the description has all of these words.</p>
        )}
      </div>
    </div>
  );
}
