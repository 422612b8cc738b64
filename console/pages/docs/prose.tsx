import type { ComponentChildren } from 'preact';

/** Renders the Markdown that the description uses: paragraphs, lists, tables, `code` and **strong** words. */
export function Prose({ text, class: className = '' }: { text: string; class?: string }) {
  return (
    <div class={`grid max-w-prose grid-cols-1 gap-2 break-words ${className}`}>
      {text
        .trim()
        .split(/\n{2,}/)
        .map((block) => (
          <Block key={block} block={block} />
        ))}
    </div>
  );
}

function Block({ block }: { block: string }) {
  if (block.startsWith('- ')) {
    return (
      <ul class="grid list-disc gap-1 pl-5">
        {block
          .slice(2)
          .split(/\n- /)
          .map((item) => (
            <li key={item}>{wordsOf(item)}</li>
          ))}
      </ul>
    );
  }
  if (block.startsWith('| '))
    return (
      <Lines
        rows={block
          .split('\n')
          .filter((line) => !/^\|[-|]+\|?$/.test(line))
          .map((line) =>
            line
              .split('|')
              .slice(1, -1)
              .map((cell) => cell.trim()),
          )}
      />
    );
  return <p>{wordsOf(block)}</p>;
}

function Lines({ rows: [head = [], ...rows] }: { rows: readonly string[][] }) {
  return (
    <div class="overflow-x-auto" tabIndex={0} role="group" aria-label={head.join(', ')}>
      <table class="w-full text-left">
        <thead>
          <tr class="border-b border-line text-xs text-soft">
            {head.map((cell) => (
              <th key={cell} scope="col" class="py-1 pr-4 font-medium">
                {wordsOf(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.join()} class="border-b border-line align-top last:border-0">
              {row.map((cell) => (
                <td key={cell} class="py-1 pr-4">
                  {wordsOf(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function wordsOf(text: string): ComponentChildren {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part, index) => {
    if (part.startsWith('`'))
      return (
        <code key={index} class="rounded bg-sunken px-1 py-px font-mono text-[0.85em]">
          {part.slice(1, -1)}
        </code>
      );
    if (part.startsWith('**'))
      return (
        <strong key={index} class="font-semibold text-ink">
          {part.slice(2, -2)}
        </strong>
      );
    return part;
  });
}
