import test from 'ava';
import { metricsRequestOf, traceRequestOf } from '../../core/system/otlp.ts';
import { encodeMessage } from '../../telemetry/protobuf.ts';
import { ORIGIN, failedCheck } from '../helpers/failed-check.ts';

/** The requests below as encoded from their JSON by OpenTelemetry's Python package (opentelemetry-proto 1.45.2). */
const OFFICIAL = {
  traces: [
    'CsAGCkYKGwoMc2VydmljZS5uYW1lEgsKCXNwb3RjaGVjawoTCgtwcm9jZXNzLnBpZBIEGPCiBAoSCgVzaGFyZRIJIQAAAAAAAOA/',
    'EvUFChIKCXNwb3RjaGVjaxIFMC4xLjASkAQKEAEjRWeJq83vASNFZ4mrze8SCAEjRWeJq83vKgNHRVQwAzngBUKv5/55GEGgkq60',
    '5/55GEocChNodHRwLnJlcXVlc3QubWV0aG9kEgUKA0dFVEopCgh1cmwuZnVsbBIdChtodHRwczovL3Nob3AuZXhhbXBsZTo4NDQz',
    'L2FKIAoOc2VydmVyLmFkZHJlc3MSDgoMc2hvcC5leGFtcGxlShIKC3NlcnZlci5wb3J0EgMY+0FKIAoZaHR0cC5yZXNwb25zZS5z',
    'dGF0dXNfY29kZRIDGPcDShMKCmVycm9yLnR5cGUSBQoDNTAzSh4KE3Nwb3RjaGVjay50ZW5hbnQuaWQSBwoFdGVuXzFKHwoUc3Bv',
    'dGNoZWNrLm1vbml0b3IuaWQSBwoFbW9uXzFKJAoWc3BvdGNoZWNrLm1vbml0b3IubmFtZRIKCghMw6RkY2hlbkogChZzcG90Y2hl',
    'Y2subW9uaXRvci50eXBlEgYKBGh0dHBKHwoQc3BvdGNoZWNrLnNvdXJjZRILCglmcmFua2Z1cnRKHgoTc3BvdGNoZWNrLnNvdXJj',
    'ZS5pZBIHCgVhZ3RfMUobChFzcG90Y2hlY2sudmVyZGljdBIGCgRkb3duSh8KD3Nwb3RjaGVjay5jYXVzZRIMCgpzdGF0dXNfNTAz',
    'ehsSF0hUVFAgNTAzIGluc3RlYWQgb2YgMnh4GAISPwoQASNFZ4mrze8BI0VniavN7xIIASNFZ4mrzeAiCAEjRWeJq83vKgNkbnMw',
    'ATngBUKv5/55GEHgDn+v5/55GBJDChABI0VniavN7wEjRWeJq83vEggBI0VniavN4SIIASNFZ4mrze8qB2Nvbm5lY3QwATngDn+v',
    '5/55GEFgt5Gw5/55GBJGChABI0VniavN7wEjRWeJq83vEggBI0VniavN4yIIASNFZ4mrze8qCmZpcnN0IGJ5dGUwATlgt5Gw5/55',
    'GEGgkq605/55GA==',
  ],
  metrics: [
    'CssCCkYKGwoMc2VydmljZS5uYW1lEgsKCXNwb3RjaGVjawoTCgtwcm9jZXNzLnBpZBIEGPCiBAoSCgVzaGFyZRIJIQAAAAAAAOA/',
    'EoACChIKCXNwb3RjaGVjaxIFMC4xLjASZAoWc3BvdGNoZWNrX2NoZWNrc190b3RhbBIGQ2hlY2tzOkIKPBEAgEDT/v15GBkAkOWn',
    '5/55GCEAAAAAAAAcQDoOCgR0eXBlEgYKBGh0dHA6DwoHdmVyZGljdBIECgJ1cBACGAESIAoDbGFnEgNMYWcqFAoSGQCQ5afn/nkY',
    'IQAAAAAAAAAAEmIKBGxhdGUSBExhdGVKVApQEQCAQNP+/XkYGQCQ5afn/nkYIQMAAAAAAAAAKQAAAAAAAAJAMhgCAAAAAAAAAAAA',
    'AAAAAAAAAQAAAAAAAAA6EJqZmZmZmbk/AAAAAAAA8D8QAg==',
  ],
};

test('a span with its steps is encoded byte for byte like the official package', (t) => {
  const written = encodeMessage('TraceRequest', traceRequestOf([failedCheck()], ORIGIN));
  t.is(written.toString('base64'), OFFICIAL.traces.join(''));
});

test('counters, gauges and histograms are encoded byte for byte like the official package', (t) => {
  const bucket = (le: number | string, value: number) => ({ value, metricName: 'late_bucket', labels: { le } });
  const request = metricsRequestOf(
    [
      {
        name: 'spotcheck_checks_total',
        help: 'Checks',
        type: 'counter',
        values: [{ value: 7, labels: { type: 'http', verdict: 'up' } }],
      },
      {
        name: 'lag',
        help: 'Lag',
        type: 'gauge',
        values: [
          { value: 0, labels: {} },
          { value: Number.NaN, labels: { a: 1 } },
        ],
      },
      {
        name: 'late',
        help: 'Late',
        type: 'histogram',
        values: [
          bucket(0.1, 2),
          bucket(1, 2),
          bucket('+Inf', 3),
          { value: 2.25, metricName: 'late_sum', labels: {} },
          { value: 3, metricName: 'late_count', labels: {} },
        ],
      },
    ],
    { startedAtMs: 1_763_720_000_000, nowMs: 1_763_721_000_000 },
    ORIGIN,
  );
  t.is(encodeMessage('MetricsRequest', request).toString('base64'), OFFICIAL.metrics.join(''));
});

test('a field unknown to OTLP is refused', (t) => {
  t.throws(() => encodeMessage('Status', { message: 'x', colour: 'red' }), { message: 'Status has no field colour' });
});
