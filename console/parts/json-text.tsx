import { useMemo } from 'preact/hooks';

/** The parts of indented JSON: a key with its colon, a text, a number, a word. Everything else is punctuation. */
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** Longer JSON is shown without colors, in characters: each token is an element of its own. */
const MOST_COLORED = 50_000;

type Token = { text: string; color: string };

/** JSON in a scrolling box, with keys, texts and numbers in colors of their own. */
export function JsonText({ value, label, class: extra = '' }: { value: unknown; label: string; class?: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? '', [value]);
  const tokens = useMemo(() => tokensOf(text), [text]);
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={label}
      class={`overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5 ${extra}`}
    >
      {tokens.map(({ text: part, color }, index) =>
        color === '' ? (
          part
        ) : (
          <span key={index} class={color}>
            {part}
          </span>
        ),
      )}
    </pre>
  );
}

function tokensOf(text: string): Token[] {
  if (text.length > MOST_COLORED) return [{ text, color: '' }];
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, quoted, colon] = match;
    const shown = quoted ?? whole;
    if (match.index > end) tokens.push({ text: text.slice(end, match.index), color: '' });
    tokens.push({ text: shown, color: colorOf(quoted, colon) });
    end = match.index + shown.length;
  }
  return end < text.length ? [...tokens, { text: text.slice(end), color: '' }] : tokens;
}

function colorOf(quoted: string | undefined, colon: string | undefined): string {
  if (colon !== undefined) return 'text-accent';
  return quoted === undefined ? 'text-degraded' : 'text-up';
}
