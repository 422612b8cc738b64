import test from 'ava';
import * as fc from 'fast-check';
import { splitBlocks, splitInline, type Inline } from '../../console/parts/markdown-blocks.ts';

test('paragraphs, headings, lists, code and tables are recognized', (t) => {
  const text = [
    '# Timeline',
    'Rolled back',
    'to 4.12.',
    '',
    '- database',
    '  full',
    '- cache',
    '',
    '3. third',
    '4. fourth',
    '> they said so',
    '',
    '```',
    '<b>not bold</b>',
    '',
    '# no heading',
    '```',
    '| name | value |',
    '|---|---|',
    '| a | `1` |',
  ].join('\n');
  t.deepEqual(splitBlocks(text), [
    { kind: 'heading', text: 'Timeline' },
    { kind: 'paragraph', text: 'Rolled back\nto 4.12.' },
    { kind: 'list', start: null, items: ['database\nfull', 'cache'] },
    { kind: 'list', start: 3, items: ['third', 'fourth\n> they said so'] },
    { kind: 'code', text: '<b>not bold</b>\n\n# no heading' },
    {
      kind: 'table',
      rows: [
        ['name', 'value'],
        ['a', '`1`'],
      ],
    },
  ]);
});

for (const [line, parts] of [
  ['a **b _c_** d', ['text', 'strong', 'text']],
  ['`**no**`', ['code']],
  ['snake_case_name and 2 * 3 * 4', ['text']],
  ['**open', ['text']],
  ['see https://example.com/a_b.', ['text', 'link', 'text']],
  ['[runbook](https://example.com/x)', ['link']],
  ['[mail](mailto:a@example.com)', ['link']],
  ['[x](javascript:alert(1))', ['text']],
  ['[x](JaVaScRiPt:alert(1))', ['text']],
  ['[x](java\tscript:alert(1))', ['text']],
  ['[x](data:text/html,<script>alert(1)</script>)', ['text']],
  ['[x](//evil.example)', ['text']],
  ['[x](/settings)', ['text']],
  ['[x](https://bank.example@evil.example/)', ['text']],
  ['<a href="https://evil.example">x</a>', ['text', 'link', 'text']],
  ['<img src=x onerror=alert(1)>', ['text']],
  ['![x](https://evil.example/pixel.png)', ['text', 'link']],
] as const)
  test(`${JSON.stringify(line)} is ${parts.join(', ')}`, (t) => {
    t.deepEqual(
      splitInline(line).map(({ kind }) => kind),
      [...parts],
    );
  });

test('no text yields a link other than http, https or mailto, and plain text is preserved', (t) => {
  const pieces = fc.constantFrom('[', '](', ')', '*', '**', '_', '`', 'https://a.b', 'javascript:', 'x', ' ', '@', '<');
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string({ unit: 'binary' })), { maxLength: 60 }), (parts) => {
      const line = parts.join('');
      for (const { href } of listLinks(splitInline(line))) {
        const { protocol, username } = new URL(href);
        t.true(['http:', 'https:', 'mailto:'].includes(protocol) && username === '', href);
      }
      // Text without marks is kept completely.
      const plain = line.replaceAll(/[`*_[\]()]/g, '');
      t.is(
        splitInline(plain)
          .map((part) => ('text' in part ? part.text : ''))
          .join(''),
        plain,
      );
    }),
  );
});

function listLinks(parts: readonly Inline[]): { href: string }[] {
  return parts.flatMap((part) => {
    if (part.kind === 'link') return [part];
    return 'parts' in part ? listLinks(part.parts) : [];
  });
}
