import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { escapeHtml } from '../../core/foreign-text.ts';

/** A page for a person who followed a link: the outcome, and what to do next. All of it is plain text. */
export type PlainPage = {
  status: number;
  title: string;
  sentences: readonly string[];
  /** Label of a button that sends a POST to the same URL; absent if there is none. */
  button?: string;
  link: { label: string; url: string };
};

const STYLE =
  'body{color-scheme:light dark;font:1.125rem/1.6 system-ui,sans-serif;max-width:36rem;margin:15vh ' +
  'auto;padding:0 1.5rem}h1{font-size:1.6rem;line-height:1.25}p{overflow-wrap:anywhere}button{font:inherit;' +
  'padding:.5rem 1.25rem;cursor:pointer}';

/**
 * The page loads, runs, frames and sends nothing except a button to this site; its one style is allowed by its hash.
 */
const contentSecurityPolicy = (hasButton: boolean) =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    `form-action ${hasButton ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ].join('; ');

/**
 * Responds with a page that no cache stores and whose URL is not disclosed to other sites: links to such pages contain
 * codes.
 */
export function sendPlainPage(response: Response, page: PlainPage): void {
  response
    .status(page.status)
    .set({
      'Content-Security-Policy': contentSecurityPolicy(page.button !== undefined),
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Robots-Tag': 'noindex',
    })
    .type('html')
    .send(renderPage(page));
}

function renderPage({ title, sentences, button, link }: PlainPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Spotcheck</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>`).join('\n')}
${button === undefined ? '' : `<form method="post"><button type="submit">${escapeHtml(button)}</button></form>`}
<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.label)}</a></p>
</main>
</body>
</html>
`;
}
