import { RE2JS } from 're2js';
import { parsePattern } from '../../core/checks/pattern.ts';
import { quote } from '../../core/foreign-text.ts';
import { isRecord } from '../../core/input.ts';

/** A regular expression of a module, in RE2 syntax: its source, and compiled. */
export type Pattern = { source: string; regex: RE2JS };

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const DURATION = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/;
const SIZE = /^(?<number>\d+)(?<unit>B|[KMGT]i?B)?$/;
const SIZE_UNITS = 'KMGT';

/**
 * The keys of one mapping of a configuration file, each read once. Problems are collected as sentences that begin with
 * the path of the key, and the fallback replaces the value.
 */
export class Fields {
  readonly path: string;
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #problems: string[];
  readonly #read = new Set<string>();

  /** `null` and undefined are an empty mapping, as in Go. */
  constructor(value: unknown, path: string, problems: string[]) {
    this.path = path;
    this.#problems = problems;
    if (value !== null && value !== undefined && !isRecord(value)) this.problem(null, 'must be a mapping');
    this.#values = new Map(isRecord(value) ? Object.entries(value) : []);
  }

  problem(name: string | null, sentence: string): void {
    this.#problems.push(`${name === null ? this.path : `${this.path}.${name}`} ${sentence}`);
  }

  names(): string[] {
    return [...this.#values.keys()];
  }

  /** Returns the value as written; null if there is none. */
  value(name: string): unknown {
    this.#read.add(name);
    return this.#values.get(name) ?? null;
  }

  has(name: string): boolean {
    const value = this.#values.get(name);
    return value !== undefined && value !== null;
  }

  text(name: string): string | null {
    const value = this.value(name);
    if (value === null) return null;
    // A header of 1 or true is written without quotes.
    if (typeof value === 'object') this.problem(name, 'must be a text');
    return typeof value === 'object' ? null : String(value);
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | null {
    const text = this.text(name);
    const chosen = choices.find((choice) => choice === text) ?? null;
    if (text !== null && text !== '' && chosen === null)
      this.problem(name, `must be one of ${choices.join(', ')}, got ${quote(text)}`);
    return chosen;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.value(name);
    if (value === null) return fallback;
    // YAML 1.1 has these words for booleans, and Go's parser accepts them.
    const flag = typeof value === 'string' ? FLAGS.get(value.toLowerCase()) : value;
    if (typeof flag !== 'boolean') this.problem(name, 'must be true or false');
    return flag === true;
  }

  whole(name: string, { least, most }: { least: number; most: number }): number | null {
    const value = this.value(name);
    if (value === null) return null;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    this.problem(name, `must be a whole number from ${least} to ${most}`);
    return null;
  }

  /** Reads a duration as Go writes it (5s, 1m30s, 500ms), in milliseconds. */
  duration(name: string): number | null {
    const text = this.text(name);
    if (text === null) return null;
    if (!DURATION.test(text)) {
      this.problem(name, `must be a duration such as 5s or 500ms, got ${quote(text)}`);
      return null;
    }
    const parts = [...text.matchAll(/([\d.]+)([^\d.]+)/g)];
    return parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * (UNITS[unit] ?? 0), 0);
  }

  /** Reads a number of bytes: 1024, 10MB; each unit is 1,024 of the previous one. */
  bytes(name: string): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const { number, unit } = SIZE.exec(text)?.groups ?? {};
    if (number === undefined) this.problem(name, `must be a number of bytes such as 10MB, got ${quote(text)}`);
    const power = unit === undefined ? 0 : SIZE_UNITS.indexOf(unit.charAt(0)) + 1;
    return number === undefined ? null : Number(number) * 1024 ** power;
  }

  /** Returns the items of a list, each with its path; empty if there is none. */
  list(name: string): { value: unknown; path: string }[] {
    const value = this.value(name);
    if (value === null) return [];
    if (!Array.isArray(value)) this.problem(name, 'must be a list');
    const items: unknown[] = Array.isArray(value) ? value : [];
    return items.map((item, index) => ({ value: item, path: `${this.path}.${name}[${index}]` }));
  }

  texts(name: string): string[] {
    return this.list(name).map(({ value }) => String(value));
  }

  /** Reads whole numbers, which YAML may have parsed as texts. */
  numbers(name: string): number[] {
    const numbers = this.list(name).map(({ value }) => Number(value));
    if (!numbers.every((number) => Number.isInteger(number))) this.problem(name, 'must be a list of whole numbers');
    return numbers;
  }

  children(name: string): Fields[] {
    return this.list(name).map(({ value, path }) => new Fields(value, path, this.#problems));
  }

  child(name: string): Fields {
    return new Fields(this.value(name), `${this.path}.${name}`, this.#problems);
  }

  pattern(name: string): Pattern | null {
    const text = this.text(name);
    return text === null ? null : this.#compile(text, `${this.path}.${name}`);
  }

  patterns(name: string): Pattern[] {
    return this.list(name)
      .map(({ value, path }) => this.#compile(String(value), path))
      .filter((pattern) => pattern !== null);
  }

  /** Refuses options of blackbox_exporter that the agent does not support. */
  refuse(...names: readonly string[]): void {
    for (const name of names)
      if (this.value(name) !== null)
        this.problem(name, 'is not supported by the agent: remove it, or leave this module to blackbox_exporter');
  }

  /** Refuses keys that were not read: a typing error would otherwise pass for a setting. */
  end(): void {
    for (const name of this.#values.keys())
      if (!this.#read.has(name)) this.problem(name, 'is not an option of modules');
  }

  #compile(source: string, path: string): Pattern | null {
    const parsed = parsePattern(source, isPattern);
    if (parsed.ok) return { source, regex: RE2JS.compile(source) };
    this.#problems.push(`${path} ${parsed.message}`);
    return null;
  }
}

/** Choice among a name's addresses: the first of the preferred family or, with `fallback`, another. */
export type AddressChoice = { preferred: 4 | 6; fallback: boolean };

/** Reads the address options that all probers share. */
export function readAddressChoice(fields: Fields): AddressChoice {
  fields.refuse('source_ip_address');
  return {
    preferred: fields.choice('preferred_ip_protocol', ['ip4', 'ip6']) === 'ip4' ? 4 : 6,
    fallback: fields.flag('ip_protocol_fallback', true),
  };
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['on', true],
  ['y', true],
  ['no', false],
  ['off', false],
  ['n', false],
]);

function isPattern(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}
