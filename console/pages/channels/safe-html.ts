import { h, type ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';

/** Elements of messages, and what each is shown as: a heading would be the page's own, a link would lead nowhere. */
const SHOWN_AS: Readonly<Record<string, string>> = {
  a: 'span',
  b: 'b',
  div: 'div',
  h1: 'div',
  p: 'p',
  table: 'table',
  tbody: 'tbody',
  td: 'td',
  th: 'th',
  tr: 'tr',
};

/**
 * The HTML of a message as elements of the page: those that are known, with their styles, and the text of all others.
 * Nothing of it is loaded, followed or run.
 */
export function SafeHtml({ html, label, class: extra = '' }: { html: string; label: string; class?: string }) {
  const body = useMemo(() => {
    // The page's policy refuses styles in HTML, even in a document that is not shown; it allows them from scripts.
    const parsed = new DOMParser().parseFromString(html.replaceAll(' style="', ' data-style="'), 'text/html');
    return { style: styleOf(parsed.body), children: childrenOf(parsed.body) };
  }, [html]);
  return h(
    'div',
    { class: `overflow-x-auto ${extra}`, style: body.style, role: 'group', 'aria-label': label, tabIndex: 0 },
    body.children,
  );
}

/** What mail programs do of themselves, and the styles of the page undo. */
const STYLES: Readonly<Record<string, string>> = {
  a: 'underline underline-offset-2',
  h1: 'font-bold',
  p: 'my-[1em]',
};

function childrenOf(element: Element): ComponentChildren[] {
  return [...element.childNodes].map((node) => {
    if (node instanceof Element) return elementOf(node);
    return node.nodeType === Node.TEXT_NODE ? node.textContent : null;
  });
}

function elementOf(element: Element): ComponentChildren {
  const shownAs = SHOWN_AS[element.localName];
  if (shownAs === undefined) return childrenOf(element);
  return h(
    shownAs,
    {
      class: STYLES[element.localName] ?? '',
      style: styleOf(element),
      ...(element.getAttribute('role') === 'presentation' && { role: 'presentation' }),
      ...(element.localName === 'a' && { title: element.getAttribute('href') ?? '' }),
    },
    childrenOf(element),
  );
}

function styleOf(element: Element): string {
  return element.getAttribute('data-style') ?? '';
}
