import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { request } from '../client/api.ts';
import { session } from '../client/session-state.ts';
import { ButtonLink } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import { Icon } from '../parts/icon.tsx';
import { Loaded, useLoad } from '../parts/load.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { Page } from '../parts/page.tsx';
import { PATHS, type PageProps } from '../paths.ts';
import { isFound, listOperations, type Description } from './docs/description.ts';
import { OperationPart } from './docs/operation.tsx';

/** The reference of the API, made from its description; open to all users, like the description itself. */
export function DocsPage({ query }: PageProps) {
  const load = useLoad((signal) => request<Description>('GET', '/openapi.json', { signal }), []);
  const isOpen = session.value === null;
  const page = (
    <Page
      title="API"
      isWide
      lead="Everything in this console is available over HTTP."
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
        {(description) => <Docs description={description} chosen={query['operation'] ?? ''} />}
      </Loaded>
    </Page>
  );
  return isOpen ? <main class="h-full overflow-y-auto">{page}</main> : page;
}

type Tags = ReturnType<typeof listOperations>;

function Docs({ description, chosen }: { description: Description; chosen: string }) {
  const tags = useMemo(() => listOperations(description), [description]);
  const wanted = useSignal('');
  const words = wanted.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const shown = tags
    .map((tag) => ({ ...tag, operations: tag.operations.filter((operation) => isFound(operation, words)) }))
    .filter(({ operations }) => operations.length > 0);
  const operation = tags.flatMap(({ operations }) => operations).find((each) => each.operationId === chosen);
  const isSearching = words.length > 0;
  return (
    <div class="gap-8 lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <div class="lg:sticky lg:top-4 lg:flex lg:max-h-[calc(100dvh-2rem)] lg:flex-col lg:self-start">
        <TextField
          label="Search operations"
          hideLabel
          placeholder="Search operations"
          value={wanted.value}
          onValue={(value) => (wanted.value = value)}
          class="mb-4"
        />
        <Operations
          tags={shown}
          chosen={chosen}
          class={operation === undefined || isSearching ? '' : 'hidden lg:block'}
        />
        {shown.length === 0 && <p class="text-sm text-soft">No operations match</p>}
      </div>
      <div class="min-w-0">
        {operation === undefined ? (
          <Overview description={description} tags={tags} />
        ) : (
          <>
            <a
              href={PATHS.docs}
              class="-ml-1 mb-2 inline-flex items-center gap-0.5 rounded text-[0.8125rem] text-soft hover:text-ink"
            >
              <Icon name="back" class="size-4" />
              Introduction
            </a>
            <OperationPart description={description} operation={operation} />
          </>
        )}
      </div>
    </div>
  );
}

/** The list of all matching operations, by tag. */
function Operations({ tags, chosen, class: extra }: { tags: Tags; chosen: string; class: string }) {
  return (
    <nav aria-label="Operations" class={`min-h-0 lg:overflow-y-auto ${extra}`}>
      {tags.map(({ name, operations }) => (
        <div key={name} class="mb-4">
          <h2 class="mb-1 text-xs font-semibold">{name}</h2>
          <ul>
            {operations.map(({ operationId, summary }) => (
              <li key={operationId}>
                <a
                  href={`${PATHS.docs}?operation=${operationId}`}
                  aria-current={operationId === chosen ? 'page' : undefined}
                  title={summary}
                  class={
                    'clipped block rounded px-1.5 py-1 text-[0.8125rem] leading-5 hover:bg-hover hover:text-ink ' +
                    (operationId === chosen ? 'bg-accent-tint font-medium text-accent' : 'text-soft')
                  }
                >
                  {summary}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** The introduction to all operations, and to each tag. */
function Overview({ description, tags }: { description: Description; tags: Tags }) {
  return (
    <>
      <Markdown text={description.info.description} class="mb-8 text-sm" />
      {tags.map((tag) => (
        <section key={tag.name} class="mb-6">
          <h2 class="heading text-base">{tag.name}</h2>
          <Markdown text={tag.description} class="mb-1.5 text-sm text-soft" />
        </section>
      ))}
    </>
  );
}
