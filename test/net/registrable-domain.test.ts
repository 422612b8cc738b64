import test from 'ava';
import { findOwnersDomain, findRegistrableDomain } from '../../net/registrable-domain.ts';

const HOSTS: readonly [host: string, domain: string | null][] = [
  ['example.com', 'example.com'],
  ['www.shop.Example.COM.', 'example.com'],
  ['www.bbc.co.uk', 'bbc.co.uk'],
  ['a.b.kawasaki.jp', 'a.b.kawasaki.jp'],
  ['city.kawasaki.jp', 'city.kawasaki.jp'],
  ['bücher.de', 'xn--bcher-kva.de'],
  ['www.xn--bcher-kva.de', 'xn--bcher-kva.de'],
  ['shop.github.io', 'github.io'],
  ['host.nowhere', 'host.nowhere'],
  ['co.uk', null],
  ['com', null],
  ['foo.ck', null],
  ['localhost', null],
  ['127.0.0.1', null],
  ['::1', null],
  ['[::1]', null],
  ['', null],
];
for (const [host, domain] of HOSTS) {
  test(`${JSON.stringify(host)} ${domain === null ? 'has no registrable domain' : `belongs to ${domain}`}`, (t) => {
    t.is(findRegistrableDomain(host), domain);
  });
}

test('with private suffixes each customer of a hosting provider has its own domain', (t) => {
  t.is(findOwnersDomain('www.Shop.eu.org.'), 'shop.eu.org');
  t.is(findOwnersDomain('shop.uk.com'), 'shop.uk.com');
  t.is(findOwnersDomain('a.example.com'), 'example.com');
  t.is(findOwnersDomain('eu.org'), null);
});
