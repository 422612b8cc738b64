import test from 'ava';
import { parseBootstrap, readSnapshot } from '../../../probes/domain/rdap.ts';

test('the snapshot has the services of more than a thousand top-level domains', (t) => {
  const services = readSnapshot();
  t.like(services, { com: 'https://rdap.verisign.com/com/v1/', org: 'https://rdap.publicinterestregistry.org/rdap/' });
  t.true(Object.keys(services).length > 1000);
  t.true(
    Object.entries(services).every(([tld, address]) => /^[a-z0-9-]+$/.test(tld) && /^https?:\/\/.*\/$/.test(address)),
  );
  t.is(services['de'], undefined);
});

const DOCUMENTS: readonly [what: string, text: string, services: object | null][] = [
  [
    'https is preferred to http',
    '{"services":[[["COM","net"],["http://a.example/x","https://b.example/x"]]]}',
    { com: 'https://b.example/x/', net: 'https://b.example/x/' },
  ],
  [
    'http is used if there is no https',
    '{"services":[[["kg"],["http://rdap.cctld.kg/"]]],"version":"1.0"}',
    { kg: 'http://rdap.cctld.kg/' },
  ],
  [
    'invalid addresses and services are skipped',
    '{"services":[[["a"],["ftp://a.example/"]],[["b"],["https://b.example/"],"more"]]}',
    { b: 'https://b.example/' },
  ],
  ['an empty list is no registry', '{"services":[]}', null],
  ['another document is no registry', '{"hello":"world"}', null],
  ['invalid JSON is no registry', '<html>', null],
];
for (const [what, text, services] of DOCUMENTS) {
  test(what, (t) => {
    t.deepEqual<unknown, unknown>(parseBootstrap(text), services);
  });
}
