/**
 * Encoding of a field. `hex` is bytes written in hex in JSON, `int64` and `enum` are varints, `fixed64s` and `doubles`
 * are packed; any other kind is a message of that name, or a list of them.
 */
type Kind = 'string' | 'hex' | 'bool' | 'int64' | 'enum' | 'double' | 'fixed64' | 'fixed64s' | 'doubles' | MessageName;
type Fields = Readonly<Record<string, readonly [number: number, kind: Kind]>>;

type MessageName =
  | 'TraceRequest'
  | 'ResourceSpans'
  | 'ScopeSpans'
  | 'Span'
  | 'Status'
  | 'MetricsRequest'
  | 'ResourceMetrics'
  | 'ScopeMetrics'
  | 'Metric'
  | 'Gauge'
  | 'Sum'
  | 'NumberPoint'
  | 'Histogram'
  | 'HistogramPoint'
  | 'Resource'
  | 'Scope'
  | 'KeyValue'
  | 'AnyValue';

/** Messages that are sent, with their JSON field names and the field numbers of opentelemetry-proto 1.x. */
const MESSAGES: Readonly<Record<MessageName, Fields>> = {
  TraceRequest: { resourceSpans: [1, 'ResourceSpans'] },
  ResourceSpans: { resource: [1, 'Resource'], scopeSpans: [2, 'ScopeSpans'] },
  ScopeSpans: { scope: [1, 'Scope'], spans: [2, 'Span'] },
  Span: {
    traceId: [1, 'hex'],
    spanId: [2, 'hex'],
    parentSpanId: [4, 'hex'],
    name: [5, 'string'],
    kind: [6, 'enum'],
    startTimeUnixNano: [7, 'fixed64'],
    endTimeUnixNano: [8, 'fixed64'],
    attributes: [9, 'KeyValue'],
    status: [15, 'Status'],
  },
  Status: { message: [2, 'string'], code: [3, 'enum'] },
  MetricsRequest: { resourceMetrics: [1, 'ResourceMetrics'] },
  ResourceMetrics: { resource: [1, 'Resource'], scopeMetrics: [2, 'ScopeMetrics'] },
  ScopeMetrics: { scope: [1, 'Scope'], metrics: [2, 'Metric'] },
  Metric: {
    name: [1, 'string'],
    description: [2, 'string'],
    gauge: [5, 'Gauge'],
    sum: [7, 'Sum'],
    histogram: [9, 'Histogram'],
  },
  Gauge: { dataPoints: [1, 'NumberPoint'] },
  Sum: { dataPoints: [1, 'NumberPoint'], aggregationTemporality: [2, 'enum'], isMonotonic: [3, 'bool'] },
  NumberPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    asDouble: [4, 'double'],
    attributes: [7, 'KeyValue'],
  },
  Histogram: { dataPoints: [1, 'HistogramPoint'], aggregationTemporality: [2, 'enum'] },
  HistogramPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    count: [4, 'fixed64'],
    sum: [5, 'double'],
    bucketCounts: [6, 'fixed64s'],
    explicitBounds: [7, 'doubles'],
    attributes: [9, 'KeyValue'],
  },
  Resource: { attributes: [1, 'KeyValue'] },
  Scope: { name: [1, 'string'], version: [2, 'string'] },
  KeyValue: { key: [1, 'string'], value: [2, 'AnyValue'] },
  AnyValue: { stringValue: [1, 'string'], boolValue: [2, 'bool'], intValue: [3, 'int64'], doubleValue: [4, 'double'] },
};

/** Fields of each message in the order of their numbers, with their encoded tags. */
const WRITTEN: Readonly<Record<string, readonly (readonly [key: string, tag: number, kind: Kind])[]>> =
  Object.fromEntries(
    Object.entries(MESSAGES).map(([name, fields]) => [
      name,
      Object.entries(fields).map(([key, [number, kind]]) => [key, (number << 3) | wireTypeOf(kind), kind] as const),
    ]),
  );

/** Initial size of the buffer, in bytes; it grows as needed. */
const FIRST_BYTES = 65_536;

/**
 * Encodes an OTLP message in JSON form as Protocol Buffers. Throws for a field that OTLP does not define, which would
 * be a bug in this code.
 */
export function encodeMessage(name: MessageName, message: object): Buffer {
  const writer = new MessageWriter();
  writer.writeMessage(name, message);
  return writer.written();
}

function wireTypeOf(kind: Kind): number {
  if (kind === 'bool' || kind === 'enum' || kind === 'int64') return 0;
  return kind === 'double' || kind === 'fixed64' ? 1 : 2;
}

/** Writes into one buffer, because allocating many small ones would be most of the work. */
class MessageWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  writeMessage(name: MessageName, message: object): void {
    let left = Object.keys(message).length;
    for (const [key, tag, kind] of WRITTEN[name] ?? []) {
      const value: unknown = Reflect.get(message, key);
      if (value === undefined) continue;
      left -= 1;
      if (Array.isArray(value) && kind !== 'fixed64s' && kind !== 'doubles')
        for (const one of value) this.#writeField(tag, kind, one);
      else this.#writeField(tag, kind, value);
    }
    const unknown = left === 0 ? undefined : Object.keys(message).find((key) => !(key in MESSAGES[name]));
    if (unknown !== undefined) throw new TypeError(`${name} has no field ${unknown}`);
  }

  #writeField(tag: number, kind: Kind, value: unknown): void {
    this.#writeVarint(tag);
    switch (kind) {
      case 'bool':
      case 'enum':
        return this.#writeVarint(Number(value));
      case 'int64':
        return this.#writeInt64(BigInt(String(value)));
      case 'fixed64':
        return this.#writeFixed64(value);
      case 'double':
        return this.#writeDouble(value);
      case 'string':
      case 'hex':
        return this.#writeText(String(value), kind === 'hex' ? 'hex' : 'utf8');
      case 'fixed64s':
        return this.#writeDelimited(() => listOf(value).forEach((one) => this.#writeFixed64(one)));
      case 'doubles':
        return this.#writeDelimited(() => listOf(value).forEach((one) => this.#writeDouble(one)));
      default:
        return this.#writeDelimited(() => this.writeMessage(kind, Object(value)));
    }
  }

  /**
   * Writes a length and then the content: one byte is reserved for the length, and the content moves if it needs more.
   */
  #writeDelimited(write: () => void): void {
    this.#reserve(1);
    const lengthAt = this.#at;
    this.#at += 1;
    write();
    const length = this.#at - lengthAt - 1;
    const more = varintBytes(length) - 1;
    this.#reserve(more);
    if (more > 0) this.#bytes.copyWithin(lengthAt + 1 + more, lengthAt + 1, this.#at);
    this.#at = lengthAt;
    this.#writeVarint(length);
    this.#at += length;
  }

  #writeText(text: string, encoding: 'utf8' | 'hex'): void {
    const length = Buffer.byteLength(text, encoding);
    this.#writeVarint(length);
    this.#reserve(length);
    this.#at += this.#bytes.write(text, this.#at, encoding);
  }

  #writeVarint(value: number): void {
    this.#reserve(varintBytes(value));
    let rest = value;
    for (; rest > 127; rest >>>= 7) this.#bytes[this.#at++] = (rest & 127) | 128;
    this.#bytes[this.#at++] = rest;
  }

  #writeInt64(value: bigint): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    for (; rest > 127n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 127n) | 128;
    this.#bytes[this.#at++] = Number(rest);
  }

  #writeFixed64(value: unknown): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeBigUInt64LE(BigInt(String(value)), this.#at);
  }

  #writeDouble(value: unknown): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(Number(value), this.#at);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Returns the number of bytes of a varint, seven bits each; lengths and tags have at most 31 bits. */
function varintBytes(value: number): number {
  return value < 128 ? 1 : Math.ceil((32 - Math.clz32(value)) / 7);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
