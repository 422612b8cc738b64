import test from 'ava';
import { createGate } from '../../../workers/check/gate.ts';

test(
  'as many as the gate is wide are inside, the others follow in the order in which they came, whatever became of ' +
    'those before',
  async (t) => {
    const gate = createGate({ width: 2, perTurn: 10 });
    const entered: number[] = [];
    const works = Array.from({ length: 6 }, () => Promise.withResolvers<number>());
    const all = works.map(({ promise }, number) =>
      gate.pass(() => {
        entered.push(number);
        return promise;
      }),
    );
    const leave = async (number: number) => {
      if (number === 1) works[number]?.reject(new Error('It failed'));
      else works[number]?.resolve(number);
      await all[number]?.catch(() => undefined);
    };
    t.deepEqual(entered, [0, 1]);
    await leave(1);
    t.deepEqual(entered, [0, 1, 2]);
    await leave(2);
    await leave(0);
    t.deepEqual(entered, [0, 1, 2, 3, 4]);
    for (const number of [3, 4, 5]) await leave(number);
    t.deepEqual(entered, [0, 1, 2, 3, 4, 5]);
    await t.throwsAsync(async () => await all[1], { message: 'It failed' });
    t.is(await gate.pass(() => Promise.resolve('after all of them')), 'after all of them');
  },
);

test('so many begin in one turn of the event loop, the others in the turns after it', async (t) => {
  const gate = createGate({ width: 10, perTurn: 2 });
  let turn = 0;
  const begunIn: number[] = [];
  const all = Array.from({ length: 5 }, () => gate.pass(() => Promise.resolve(begunIn.push(turn))));
  const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
  for (turn = 1; turn <= 4; turn += 1) await nextTurn();
  await Promise.all(all);
  t.deepEqual(
    begunIn.map((began) => begunIn.filter((other) => other === began).length),
    [2, 2, 2, 2, 1],
  );
});

test('there is room while fewer wait than can be inside, and who asked for it hears when there is', async (t) => {
  const gate = createGate({ width: 2, perTurn: 10 });
  const works = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const all = works.map(({ promise }) => gate.pass(() => promise));
  t.true(gate.isFull());
  let hasRoom = false;
  const room = gate.room().then(() => (hasRoom = true));
  await new Promise<void>((resolve) => setImmediate(resolve));
  t.false(hasRoom);
  works[0]?.resolve();
  await room;
  t.false(gate.isFull());
  await gate.room();
  for (const { resolve } of works) resolve();
  await Promise.all(all);
});
