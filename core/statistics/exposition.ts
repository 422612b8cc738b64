/** The value of `Content-Type` of the text format that Prometheus and its like read. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Characters of a label's value; what is beyond is cut, so that a line has a bound. */
const MOST_LABEL_CHARACTERS = 256;

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

/** The two lines before the samples of a gauge. */
export function writeHead(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}

/** The line of one sample; `labels` as they stand between the braces, empty for none. */
export function writeSample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
}

/** The value of a label, cut and escaped; half of a surrogate pair is not left behind. */
export function labelValue(text: string, most = MOST_LABEL_CHARACTERS): string {
  return text
    .slice(0, most)
    .toWellFormed()
    .replaceAll(/[\\"\n]/g, (character) => ESCAPES[character] ?? character);
}
