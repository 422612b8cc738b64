/** Value of a cell; null is an empty cell. */
type CsvCell = string | number | boolean | null;

/** Columns of a table in order: each one's header, and its cell in a row. */
export type CsvColumns<Row> = readonly (readonly [string, (row: Row) => CsvCell])[];

/** Renders rows as CSV (RFC 4180): a header, then one line per row, each ending with CRLF. */
export function renderCsv<Row>(columns: CsvColumns<Row>, rows: readonly Row[]): string {
  const lines = [
    columns.map(([name]) => name),
    ...rows.map((row) => columns.map(([, valueOf]) => renderCell(valueOf(row)))),
  ];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

/**
 * Characters that make a spreadsheet read a cell as a formula, even in CSV quotes. Some read their full-width forms
 * alike.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Positions in a text where a formula can begin. In locales with a decimal comma, spreadsheets split cells at
 * semicolons and ignore quotes that follow a comma, so a line feed within them begins a row.
 */
const FORMULA_WITHIN = /(?<=[;\t\r\n])(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g;

/** Only strings can be foreign; the service's own numbers may be negative and stay as they are. */
function renderCell(value: CsvCell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const text = (FORMULA.test(value) ? `'${value}` : value).replaceAll(FORMULA_WITHIN, "'");
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
