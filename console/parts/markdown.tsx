import type { ComponentChildren } from 'preact';
import { DIRECTION_CONTROLS } from '../../core/foreign-text.ts';
import { splitBlocks, splitInline, type Block, type Inline } from './markdown-blocks.ts';

/**
 * Renders Markdown as elements, never as HTML: unknown markup is shown as it was written. In notes, which people write,
 * line breaks stay.
 */
export function Markdown({
  text,
  isNote = false,
  class: className = '',
}: {
  text: string;
  isNote?: boolean;
  class?: string;
}) {
  return (
    <div
      class={
        'grid max-w-prose grid-cols-1 gap-2 break-words ' +
        `${isNote ? 'whitespace-pre-line [overflow-wrap:anywhere]' : ''} ${className}`
      }
    >
      {splitBlocks(text.trim()).map((block, index) => (
        <BlockShown key={index} block={block} />
      ))}
    </div>
  );
}

function BlockShown({ block }: { block: Block }) {
  switch (block.kind) {
    case 'paragraph':
      return <p>{inlineOf(block.text)}</p>;
    case 'heading':
      // Not a heading of the page's outline: notes are parts of a section.
      return <p class="font-semibold text-ink">{inlineOf(block.text)}</p>;
    case 'quote':
      return <blockquote class="border-l-2 border-line-strong pl-3 text-soft">{inlineOf(block.text)}</blockquote>;
    case 'code':
      return (
        <pre
          tabIndex={0}
          role="group"
          aria-label="Code"
          class="max-h-72 overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-xs leading-5"
        >
          {block.text}
        </pre>
      );
    case 'list':
      return <List start={block.start} items={block.items} />;
    case 'table':
      return <Rows rows={block.rows} />;
    default:
      return block satisfies never;
  }
}

function List({ start, items }: { start: number | null; items: readonly string[] }) {
  const lines = items.map((item, index) => <li key={index}>{inlineOf(item)}</li>);
  return start === null ? (
    <ul class="grid list-disc grid-cols-1 gap-1 pl-5">{lines}</ul>
  ) : (
    <ol start={start} class="grid list-decimal grid-cols-1 gap-1 pl-6">
      {lines}
    </ol>
  );
}

function Rows({ rows: [head = [], ...rows] }: { rows: readonly (readonly string[])[] }) {
  return (
    <div class="overflow-x-auto" tabIndex={0} role="group" aria-label={head.join(', ')}>
      <table class="w-full text-left">
        <thead>
          <tr class="border-b border-line text-xs text-soft">
            {head.map((cell, index) => (
              <th key={index} scope="col" class="py-1 pr-4 font-medium">
                {inlineOf(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index} class="border-b border-line align-top last:border-0">
              {row.map((cell, column) => (
                <td key={column} class="py-1 pr-4">
                  {inlineOf(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlineOf(line: string): ComponentChildren {
  return splitInline(line).map((part, index) => <InlineShown key={index} part={part} />);
}

function InlineShown({ part }: { part: Inline }): ComponentChildren {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'code':
      return <code class="rounded bg-sunken px-1 py-px font-mono text-[0.85em]">{part.text}</code>;
    case 'strong':
      return <strong class="font-semibold text-ink">{part.parts.map(showPart)}</strong>;
    case 'emphasis':
      return <em>{part.parts.map(showPart)}</em>;
    case 'link':
      return <Link text={part.text} href={part.href} />;
    default:
      return part satisfies never;
  }
}

function showPart(part: Inline, index: number): ComponentChildren {
  return <InlineShown key={index} part={part} />;
}

/** A link. If its text hides the address, the host follows in the text. */
function Link({ text, href }: { text: string; href: string }) {
  const { host, pathname, protocol } = new URL(href);
  // Direction controls could make the text run over the host behind it.
  const shown = text.replaceAll(DIRECTION_CONTROLS, '');
  const isAddress = URL.canParse(text) && new URL(text).href === href;
  return (
    <bdi>
      <a
        href={href}
        target="_blank"
        rel="noopener noreferrer nofollow"
        title={href}
        class="text-accent underline underline-offset-2"
      >
        {shown}
      </a>
      {!isAddress && <span class="text-soft"> ({protocol === 'mailto:' ? pathname : host})</span>}
    </bdi>
  );
}
