import test from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import type { Rendered } from '../../../core/alerts/webhook.ts';
import { prepareRequests } from '../../../notifications/webhook/prepare.ts';
import { renderTemplate } from '../../../notifications/webhook/template/engine.ts';
import { createTemplateRenderer } from '../../../notifications/webhook/template/renderer.ts';

const VARIABLES = { title: 'Down: Shop', monitor: { name: 'Shop' } };

test.serial('rendering does not time out while other processes hold the CPU', (t) => {
  const { now } = performance;
  let heldUpMs = 0;
  performance.now = () => now.call(performance) + (heldUpMs += 10_000);
  t.teardown(() => (performance.now = now));
  const body = '{% for each in (1..3) %}{{ each }} {{ title | json }} {% endfor %}';
  t.deepEqual(renderTemplate(body, VARIABLES), {
    ok: true,
    text: '1 "Down: Shop" 2 "Down: Shop" 3 "Down: Shop" ',
  });
});

test('a template that never ends or outputs too much is aborted, and the next one is rendered', async (t) => {
  const renderer = createTemplateRenderer();
  t.teardown(renderer.close);
  const render = (template: string) => renderer.render({ template, variables: VARIABLES }, 'ten_1');
  const long = 'a'.repeat(5000);
  for (const template of [
    '{% for i in (1..1000) %}{% for j in (1..1000) %}{% for k in (1..1000) %}{% endfor %}{% endfor %}{% endfor %}',
    '{% for i in (1..100000000) %}{% endfor %}',
    '{{ "now" | date: "%536870000Y" }}',
    `{% assign a = "${long}" | append: "${long}" %}{{ a | replace: "a", a }}`,
    '{% assign a = "aaaaaaaaaaaaaaaa" %}{% for i in (1..60) %}{% assign a = a | append: a %}{% endfor %}',
  ]) {
    const rendered = await render(template);
    t.false(rendered.ok, template);
    t.deepEqual(await render('{{ title }}'), { ok: true, text: 'Down: Shop' });
  }
});

test('captures count toward the output limit like filter results, even if they are not shown', (t) => {
  const doubling = '{% capture a %}{{ a }}{{ a }}{% endcapture %}';
  const doubled = (times: number) =>
    `{% assign a = "aaaaaaaaaaaaaaaa" %}{% for i in (1..${times}) %}${doubling}{% endfor %}`;
  t.deepEqual(renderTemplate(`${doubled(4)}{{ a | size }}`, VARIABLES), { ok: true, text: '256' });
  t.false(renderTemplate(`${doubled(24)}{{ a | size }}`, VARIABLES).ok);
  const shadowed = '{% for a in (1..3) %}{% capture a %}' + 'x'.repeat(99) + '{% for i in (1..9999) %}x{% endfor %}';
  t.false(renderTemplate(`{% for i in (1..200) %}${shadowed}{% endcapture %}{% endfor %}{% endfor %}`, VARIABLES).ok);
  const nested = '{% capture a %}x{% capture b %}y{% endcapture %}{{ b }}{% endcapture %}{{ a }}{{ b }}';
  t.deepEqual(renderTemplate(nested, VARIABLES), { ok: true, text: 'xyy' });
});

test('a template error is short, even if it quotes a long text', (t) => {
  const long = "{% assign e = 'xxxxxxxxxxxxxxxx' %}{% for i in (1..14) %}{% assign e = e | append: e %}{% endfor %}";
  const rendered = renderTemplate(`${long}{% assign e = 'i | ' | append: e %}{{ list | where_exp: 'i', e }}`, {
    list: ['Frankfurt'],
  });
  t.regex(rendered.ok ? '' : rendered.problem, /^is not valid Liquid: undefined filter: x{200,300}$/);
});

test('a template can read its variables, but no prototypes, globals or files', async (t) => {
  const renderer = createTemplateRenderer();
  t.teardown(renderer.close);
  const render = (template: string) => renderer.render({ template, variables: VARIABLES }, 'ten_1');
  const names = ['title.constructor', 'monitor.__proto__', 'constructor', 'process', 'globalThis', 'env', 'toString'];
  const body = names.map((name) => `{{ ${name} }}`).join('');
  t.deepEqual(await render(body), { ok: true, text: '' });
  for (const tag of ['include', 'render', 'layout']) t.false((await render(`{% ${tag} "/etc/passwd" %}`)).ok);
});

test('if a template is not rendered in time the envelope is sent instead', async (t) => {
  const never = new Promise<Rendered>(() => undefined);
  const { requests, problem } = await prepareRequests(
    {
      url: 'https://hooks.example/in',
      format: { template: { method: 'PUT', contentType: 'text/plain', body: 'x' } },
      account: 'ten_1',
      deliveryId: 'dlv_1',
      message: buildTestMessage({ nowMs: 0, publicUrl: 'https://spotcheck.example' }),
    },
    { nowMs: 0, renderer: { render: () => never } },
  );
  t.is(problem, 'The signed envelope was sent instead: template.body was not rendered within 3 s');
  t.deepEqual([requests.length, requests[0]?.method, requests[0]?.contentType], [1, 'POST', 'application/json']);
});
