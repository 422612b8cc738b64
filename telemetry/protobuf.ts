/**
 * How a field is written. `hex` is bytes that JSON has in hex, `int64` and `enum` are varints, `fixed64s` and `doubles`
 * are packed; anything else is the message of that name, or several of them.
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

/** The messages that are sent, by the names of their JSON, with the numbers of opentelemetry-proto 1.x. */
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

const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;

/**
 * A message of OTLP in its JSON form as Protocol Buffers. Throws where it has a field that OTLP does not: that would be
 * our bug.
 */
export function encodeMessage(name: MessageName, message: object): Buffer {
  const parts: Buffer[] = [];
  const values = new Map<string, unknown>(Object.entries(message));
  for (const [key, [number, kind]] of Object.entries(MESSAGES[name])) {
    const value = values.get(key);
    if (!values.delete(key)) continue;
    const isPacked = kind === 'fixed64s' || kind === 'doubles';
    for (const one of Array.isArray(value) && !isPacked ? value : [value])
      parts.push(...encodeField(number, kind, one));
  }
  for (const key of values.keys()) throw new TypeError(`${name} has no field ${key}`);
  return Buffer.concat(parts);
}

function encodeField(number: number, kind: Kind, value: unknown): Buffer[] {
  switch (kind) {
    case 'bool':
    case 'enum':
    case 'int64':
      return [tag(number, VARINT), varint(BigInt.asUintN(64, BigInt(Number(value))))];
    case 'fixed64':
      return [tag(number, FIXED_64), fixed64(value)];
    case 'double':
      return [tag(number, FIXED_64), double(value)];
    case 'string':
      return delimited(number, Buffer.from(String(value)));
    case 'hex':
      return delimited(number, Buffer.from(String(value), 'hex'));
    case 'fixed64s':
      return delimited(number, Buffer.concat(listOf(value).map(fixed64)));
    case 'doubles':
      return delimited(number, Buffer.concat(listOf(value).map(double)));
    default:
      return delimited(number, encodeMessage(kind, Object(value)));
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function delimited(number: number, content: Buffer): Buffer[] {
  return [tag(number, DELIMITED), varint(BigInt(content.length)), content];
}

function tag(number: number, wireType: number): Buffer {
  return varint(BigInt((number << 3) | wireType));
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

function fixed64(value: unknown): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64LE(BigInt(String(value)));
  return bytes;
}

function double(value: unknown): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleLE(Number(value));
  return bytes;
}
