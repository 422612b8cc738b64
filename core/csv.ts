/** A value of a cell; null is an empty one. */
export type CsvCell = string | number | boolean | null;

/** The columns of a table, in its order: the header of each, and its cell in a row. */
export type CsvColumns<Row> = readonly (readonly [string, (row: Row) => CsvCell])[];

/** Rows as CSV (RFC 4180): a header, then one line a row, each ended by CRLF. */
export function renderCsv<Row>(columns: CsvColumns<Row>, rows: readonly Row[]): string {
  const lines = [
    columns.map(([name]) => name),
    ...rows.map((row) => columns.map(([, valueOf]) => renderCell(valueOf(row)))),
  ];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

/**
 * What spreadsheets take for the beginning of a formula, also behind the quotes of CSV. Some read the wide forms of
 * those signs as the signs.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Where a formula begins within a text. Spreadsheets of places where the decimal sign is a comma part cells at
 * semicolons, and see no quotes that stand behind a comma, so that a line feed within them begins a row.
 */
const FORMULA_WITHIN = /(?<=[;\t\r\n])(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g;

/** Only texts can be foreign; a number of ours may be negative and stays one. */
function renderCell(value: CsvCell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const text = (FORMULA.test(value) ? `'${value}` : value).replaceAll(FORMULA_WITHIN, "'");
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
