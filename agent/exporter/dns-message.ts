import { SocketAddress } from 'node:net';
import { RECORD_TYPES } from './dns-settings.ts';

/** A record: its type, and the line that blackbox_exporter matches patterns against (RFC 1035, presentation format). */
export type DnsRecord = { type: number; line: string; serial: number | null };

/** Contents of a response, by section. */
export type DnsMessage = {
  id: number;
  rcode: number;
  answers: DnsRecord[];
  authorities: DnsRecord[];
  additionals: DnsRecord[];
};

/** Thrown for bytes that are not a DNS message. */
export class InvalidMessage extends Error {
  override name = 'InvalidMessage';
}

const HEADER_BYTES = 12;
const RECURSION_DESIRED = 0x0100;

/** Writes a query for one name. */
export function writeQuery(
  id: number,
  query: { name: string; type: number; class: number; wantsRecursion: boolean },
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(query.wantsRecursion ? RECURSION_DESIRED : 0, 2);
  header.writeUInt16BE(1, 4);
  const labels = query.name === '' ? [] : query.name.split('.').map((label) => Buffer.from(label));
  const name = labels.flatMap((label) => [Buffer.from([label.length]), label]);
  const end = Buffer.alloc(5);
  end.writeUInt16BE(query.type, 1);
  end.writeUInt16BE(query.class, 3);
  return Buffer.concat([header, ...name, end]);
}

/** Parses a whole response. Throws `InvalidMessage`; takes time proportional to the message. */
export function readMessage(bytes: Buffer): DnsMessage {
  try {
    return new MessageReader(bytes).read();
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidMessage('The answer ends too early');
    throw error;
  }
}

const TYPE_NAMES = new Map(Object.entries(RECORD_TYPES).map(([name, type]) => [type, name]));
const CLASS_NAMES = new Map([
  [1, 'IN'],
  [3, 'CH'],
  [4, 'HS'],
  [255, 'ANY'],
]);

const OPT = 41;
/** Maximum pointers in a name, the maximum number of its labels: more are a loop. */
const MAX_POINTERS = 127;
/** Maximum bytes of names in one message: each of many records may point at the longest name. */
const MAX_NAME_BYTES = 1024 * 1024;

class MessageReader {
  readonly #bytes: Buffer;
  #at = 0;
  #nameBytes = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): DnsMessage {
    const [id, flags, questions, answers, authorities, additionals] = [1, 2, 3, 4, 5, 6].map(() => this.#number(2));
    for (let count = 0; count < (questions ?? 0); count += 1) {
      this.#name();
      this.#at += 4;
    }
    return {
      id: id ?? 0,
      rcode: (flags ?? 0) & 0xf,
      answers: this.#records(answers),
      authorities: this.#records(authorities),
      additionals: this.#records(additionals),
    };
  }

  #records(count = 0): DnsRecord[] {
    return Array.from({ length: count }, () => this.#record());
  }

  #record(): DnsRecord {
    const name = this.#name();
    const type = this.#number(2);
    const recordClass = this.#number(2);
    const ttl = this.#number(4);
    const length = this.#number(2);
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new InvalidMessage('A record is longer than the answer');
    const typeName = TYPE_NAMES.get(type) ?? `TYPE${type}`;
    const head = `${name}\t${ttl}\t${CLASS_NAMES.get(recordClass) ?? `CLASS${recordClass}`}\t${typeName}\t`;
    const serial = type === RECORD_TYPES['SOA'] ? this.#serialBefore(end) : null;
    const line = type === OPT ? ';; OPT' : head + this.#content(typeName, end);
    if (type !== OPT && this.#at > end) throw new InvalidMessage('A record is longer than it says');
    this.#at = end;
    return { type, line, serial };
  }

  #serialBefore(end: number): number {
    return this.#bytes.readUInt32BE(end - 20);
  }

  /** Reads a record's content in presentation format; other types as bytes (RFC 3597). */
  #content(type: string, end: number): string {
    switch (type) {
      case 'A':
        return [1, 2, 3, 4].map(() => this.#number(1)).join('.');
      case 'AAAA':
        return this.#address6();
      case 'NS':
      case 'CNAME':
      case 'PTR':
      case 'DNAME':
        return this.#name();
      case 'MX':
      case 'AFSDB':
        return `${this.#number(2)} ${this.#name()}`;
      case 'SRV':
        return `${this.#number(2)} ${this.#number(2)} ${this.#number(2)} ${this.#name()}`;
      case 'SOA':
        return [this.#name(), this.#name(), ...[1, 2, 3, 4, 5].map(() => this.#number(4))].join(' ');
      case 'TXT':
      case 'SPF':
        return this.#texts(end).join(' ');
      case 'CAA': {
        const flag = this.#number(1);
        const tag = this.#take(this.#number(1)).toString('latin1');
        return `${flag} ${tag} ${quoted(this.#take(end - this.#at))}`;
      }
      default:
        return `\\# ${end - this.#at} ${this.#take(end - this.#at).toString('hex')}`.trimEnd();
    }
  }

  #address6(): string {
    const groups = [1, 2, 3, 4, 5, 6, 7, 8].map(() => this.#number(2).toString(16));
    return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address;
  }

  #texts(end: number): string[] {
    const texts: string[] = [];
    while (this.#at < end) texts.push(quoted(this.#take(this.#number(1))));
    return texts;
  }

  #number(length: 1 | 2 | 4): number {
    const number = this.#bytes.readUIntBE(this.#at, length);
    this.#at += length;
    return number;
  }

  #take(length: number): Buffer {
    if (length < 0 || this.#at + length > this.#bytes.length) throw new InvalidMessage('The answer ends too early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** Reads a name, with its final dot, and follows compression pointers. */
  #name(): string {
    let after: number | null = null;
    let name = '';
    for (let pointers = 0; ;) {
      const length = this.#number(1);
      if (length === 0) break;
      if (length >= 0xc0) {
        const to = ((length & 0x3f) << 8) | this.#number(1);
        after ??= this.#at;
        pointers += 1;
        if (pointers > MAX_POINTERS) throw new InvalidMessage('A name points at itself');
        this.#at = to;
      } else if (length > 63) throw new InvalidMessage('A label is longer than allowed');
      else name += `${escaped(this.#take(length))}.`;
      this.#nameBytes += length >= 0xc0 ? 2 : length;
      if (this.#nameBytes > MAX_NAME_BYTES) throw new InvalidMessage('The names of the answer are too long');
    }
    if (after !== null) this.#at = after;
    return name === '' ? '.' : name;
  }
}

function escaped(label: Buffer): string {
  return label.toString('latin1').replaceAll(/[."\\();@$ ]|[^!-~]/g, (character) => {
    const isPlain = character >= '!' && character <= '~';
    return isPlain ? `\\${character}` : decimal(character);
  });
}

function quoted(text: Buffer): string {
  const inside = text.toString('latin1').replaceAll(/["\\]|[^ -~]/g, (character) => {
    return character === '"' || character === '\\' ? `\\${character}` : decimal(character);
  });
  return `"${inside}"`;
}

function decimal(character: string): string {
  return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`;
}
