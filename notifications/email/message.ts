import { CHAT_CAPS, shorten, type ChatMessage } from '../../core/alerts/chat/message.ts';
import { escapeHtml } from '../../core/foreign-text.ts';
import type { ReportTable } from '../../core/statistics/reports/message.ts';

/** An email without its addresses: the subject in one line, and the same text twice. */
export type EmailContent = { subject: string; text: string; html: string };

/** Text below the message: why it was sent, and the unsubscribe link; null if there is nothing to end. */
type EmailFooter = { text: string; link: { label: string; url: string } | null };

/** Maximum length of a subject, in characters: phones show some forty. */
const LONGEST_SUBJECT = 120;

const STYLES = {
  body: 'margin:0;padding:24px 16px;font:16px/1.5 sans-serif;color:#1c1917;background:#ffffff',
  title: 'margin:0 0 12px;font-size:20px;line-height:1.3',
  cell: 'padding:2px 12px 2px 0;vertical-align:top',
  footer: 'margin:24px 0 0;padding-top:12px;border-top:1px solid #d6d3d1;font-size:13px;color:#57534e',
} as const;

/**
 * Renders a chat message as an email: plain text, and HTML that loads nothing. Names and reasons are foreign text:
 * everything is escaped and kept on one line each.
 */
export function renderEmail(
  { title, text, facts, link }: ChatMessage,
  footer: EmailFooter,
  report: ReportTable | null = null,
): EmailContent {
  const shown = {
    title: shorten(title, CHAT_CAPS.title),
    text: text === null ? null : shorten(text, CHAT_CAPS.text),
    facts: facts.map(({ label, value }) => ({
      label: shorten(label, CHAT_CAPS.shortName),
      value: shorten(value, CHAT_CAPS.fact),
    })),
    link,
    table: report && shownTable(report),
  };
  return { subject: shorten(title, LONGEST_SUBJECT), text: plainText(shown, footer), html: page(shown, footer) };
}

type Shown = Pick<ChatMessage, 'title' | 'text' | 'facts' | 'link'> & { table: ReportTable | null };

function shownTable({ columns, rows, rest }: ReportTable): ReportTable {
  return { columns, rows: rows.map((row) => row.map((cell) => shorten(cell, CHAT_CAPS.name))), rest };
}

function plainText({ title, text, facts, link, table }: Shown, footer: EmailFooter): string {
  const parts = [
    [title, ...(text === null ? [] : [text])],
    facts.map(({ label, value }) => `${label}: ${value}`),
    table === null ? [] : plainTable(table),
    link === null ? [] : [`${link.label}: ${link.url}`],
    // The usual signature delimiter, which clients recognize.
    ['-- ', footer.text, ...(footer.link === null ? [] : [`${footer.link.label}: ${footer.link.url}`])],
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
    .join('\n\n')}\n`;
}

/** Renders a line per row, with the names of its columns: aligned columns need a font that few programs use. */
function plainTable({ columns, rows, rest }: ReportTable): string[] {
  const [, ...names] = columns;
  return [
    ...rows.map(([first = '', ...cells]) => {
      const values = cells.map((cell, index) => `${names[index]?.toLowerCase()} ${cell}`);
      return `${first}: ${values.join(', ')}`;
    }),
    ...(rest === null ? [] : [rest]),
  ];
}

function htmlTable({ columns, rows, rest }: ReportTable): string[] {
  const cell = (tag: 'th' | 'td', text: string) =>
    `<${tag} style="${STYLES.cell}" align="left">${escapeHtml(text)}</${tag}>`;
  return [
    '<table>',
    `<tr>${columns.map((column) => cell('th', column)).join('')}</tr>`,
    ...rows.map((row) => `<tr>${row.map((text) => cell('td', text)).join('')}</tr>`),
    '</table>',
    ...(rest === null ? [] : [`<p>${escapeHtml(rest)}</p>`]),
  ];
}

function page({ title, text, facts, link, table }: Shown, footer: EmailFooter): string {
  const rows = facts.map(
    ({ label, value }) =>
      `<tr><td style="${STYLES.cell}"><b>${escapeHtml(label)}</b></td>` +
      `<td style="${STYLES.cell}">${escapeHtml(value)}</td></tr>`,
  );
  const footerLink = footer.link === null ? '' : ` ${anchor(footer.link)}`;
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>`,
    `<body style="${STYLES.body}">`,
    `<h1 style="${STYLES.title}">${escapeHtml(title)}</h1>`,
    ...(text === null ? [] : [`<p>${escapeHtml(text)}</p>`]),
    ...(rows.length === 0 ? [] : [`<table role="presentation">${rows.join('\n')}</table>`]),
    ...(table === null ? [] : htmlTable(table)),
    ...(link === null ? [] : [`<p>${anchor(link)}</p>`]),
    `<p style="${STYLES.footer}">${escapeHtml(footer.text)}${footerLink}</p>`,
    '</body></html>',
    '',
  ].join('\n');
}

function anchor({ label, url }: { label: string; url: string }): string {
  return `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`;
}
