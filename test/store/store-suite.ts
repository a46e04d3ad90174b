import assert from 'node:assert/strict';
import { test as nodeTest } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { int64Max, int64Min } from '../../src/contract/int64.ts';
import { limits } from '../../src/limits.ts';
import type {
  CopiedPlant,
  FoundPlants,
  PlantFilter,
  PlantMatch,
  PlantSearch,
  PlantToCreate,
} from '../../src/store/plants.ts';
import type { Store } from '../../src/store/store.ts';
import type {
  NewToken,
  RefusedRotation,
  RotatedToken,
  TokenRecord,
} from '../../src/store/tables/tokens.ts';
import type { Owner } from '../helpers/program.ts';

/** What every store must do. `open` gives a new and empty store. */
export function storeSuite(engine: string, open: (owner: Owner) => Promise<Store>): void {
  const test = (what: string, check: (store: Store) => Promise<void>) =>
    nodeTest(`${engine}: ${what}`, async (t) => check(await open(t)));

  test('a new plant is created, the same again changes nothing, another with its id is refused', async (store) => {
    const plants = [plant(1n, 'Alder', 'Alnus'), plant(2n, 'no tag'), plant(3n, 'empty tag', '')];
    assert.deepEqual(await store.createPlants(plants), ['created', 'created', 'created']);
    assert.deepEqual(await store.createPlants(plants), ['same', 'same', 'same']);
    for (const other of [
      plant(1n, 'Birch', 'Alnus'),
      plant(1n, 'Alder', 'Betula'),
      plant(1n, 'Alder'),
      plant(1n, 'alder', 'Alnus'),
      plant(2n, 'no tag', ''),
      plant(3n, 'empty tag'),
    ]) {
      assert.deepEqual(await store.createPlants([other]), ['taken']);
    }
    const { createdAtMs: _, ...stored } = (await store.getPlant(1n)) ?? assert.fail('not stored');
    assert.deepEqual(stored, { id: 1n, name: 'Alder', tag: 'Alnus', createdBy: 'environment' });
  });

  test('an id that comes twice in a batch is treated as if one came after the other', async (store) => {
    const outcomes = await store.createPlants([
      plant(7n, 'first'),
      plant(7n, 'first'),
      plant(7n, 'second'),
      plant(8n, 'other'),
    ]);
    assert.deepEqual(outcomes, ['created', 'same', 'taken', 'created']);
    assert.equal((await store.countMatches({ budgetMs: 1_000 })).plants, 2);
  });

  test('ids are exact over all of int64, and names and tags come back byte for byte', async (store) => {
    const ids = [int64Min, -(2n ** 53n), 0n, 2n ** 53n, int64Max]
      .flatMap((id) => [id - 1n, id, id + 1n])
      .filter((id) => id >= int64Min && id <= int64Max);
    const texts = [
      ...['', ' ', ' a ', 'é', 'e\u0301', '\ufeffbom', '\u200d', '🌱🪴', '\u0001\t\n'],
      ...['"\'`;--', '%_', 'x'.repeat(300_000), '\u{10ffff}\uffff'],
    ];
    const plants = ids.map((id, index) => plant(id, texts[index] ?? '', texts[index]));
    assert.equal(plants.length, texts.length);
    await store.createPlants(plants);
    const listed = await listAll(store, { limit: 100 });
    const rows = listed.map(({ id, name, tag }) => plant(id, name, tag));
    assert.deepEqual(rows, plants);
  });

  test('whatever else is written after a plant with the highest id is written, too', async (store) => {
    const tokenId = await operatorIn(store, 'eve');
    const session = { hash: Buffer.alloc(32), tokenId, createdAtMs: 1, expiresAtMs: 2 };
    const writes: (() => Promise<unknown>)[] = [
      () => make(store, 'eve'),
      () => store.recordTokenUse([{ id: tokenId, atMs: 1 }]),
      () => store.createSession(session, 10),
      () => store.removeSession(session.hash),
      () => store.removeSessionsOf(tokenId),
      () => store.beat(1),
      () => store.recordBackup({ file: '/backups/1.db', finishedAtMs: 1, plants: 1, digest: 'ab' }),
      () => store.revokeToken('eve', 1),
    ];
    for (const [index, write] of writes.entries()) {
      await store.createPlants([plant(int64Max - BigInt(index), 'Alder')]);
      await write();
    }
    const [token] = await store.listTokens();
    assert.deepEqual([token?.lastUsedAtMs, token?.revokedAtMs], [1, 1]);
  });

  test('plants are found by tag and by a part of the name in any case, whichever way they are read', async (store) => {
    await store.createPlants([
      plant(int64Min, 'Alder', 'Alnus'),
      plant(2n, '100% birch_', 'Betula'),
      plant(3n, 'Black alder', 'Alnus'),
      plant(4n, 'Ölbaum', 'Olea'),
      plant(5n, 'ÖLBAUM', 'OLEA'),
      plant(6n, 'Straße'),
      plant(7n, 'ΑΣΑΣ', ''),
      plant(int64Max, 'alder'),
    ]);
    const expected: readonly (readonly [filter: PlantMatch, ids: readonly bigint[]])[] = [
      [{}, [int64Min, 2n, 3n, 4n, 5n, 6n, 7n, int64Max]],
      [{ tag: 'Alnus' }, [int64Min, 3n]],
      [{ tag: 'Olea' }, [4n]],
      [{ tag: '' }, [7n]],
      [{ nameContains: 'alder' }, [int64Min, 3n, int64Max]],
      [{ nameContains: 'alder', tag: 'Alnus' }, [int64Min, 3n]],
      [{ nameContains: '%' }, [2n]],
      [{ nameContains: '_' }, [2n]],
      [{ nameContains: 'ölb' }, [4n, 5n]],
      [{ nameContains: 'STRASSE' }, [6n]],
      [{ nameContains: 'σας' }, [7n]],
    ];
    for (const [filter, ids] of expected) {
      const all = { ...filter, limit: 10, budgetMs: 60_000 };
      const found = await search(store, all);
      assert.deepEqual([idsOf(found.plants), found.next], [ids, undefined]);
      assert.deepEqual(idsOf(await listAll(store, all)), ids);
      assert.deepEqual((await newestIds(store, filter, 10)).sort(), ids);
      const counted = { plants: ids.length, next: undefined };
      assert.deepEqual(await store.countMatches(all), counted);
      assert.equal(await store.countPlants(filter), ids.length);
    }
    assert.equal(await store.getPlant(8n), undefined);
  });

  test('a list and a search go on after an id, up to a limit, and a search knows whether there are more', async (store) => {
    const tags = ['Alnus', undefined, 'Alnus', undefined];
    const all = [int64Min, 2n, 3n, int64Max];
    await store.createPlants(all.map((id, index) => plant(id, 'Alder', tags[index])));
    const expected: readonly (readonly [PlantFilter, ids: readonly bigint[], next?: string])[] = [
      [{ limit: 4 }, all],
      [{ limit: 3 }, [int64Min, 2n, 3n], '3'],
      [{ after: 3n, limit: 3 }, [int64Max]],
      [{ after: 2n, limit: 1, tag: 'Alnus' }, [3n]],
      [{ after: int64Max, limit: 10 }, []],
    ];
    for (const [filter, ids, next] of expected) {
      const { after: from, ...match } = filter;
      const found = await search(store, { ...match, from: from?.toString(), budgetMs: 60_000 });
      assert.deepEqual([idsOf(found.plants), found.next], [ids, next]);
      assert.deepEqual(idsOf(await listAll(store, filter)), ids);
    }
  });

  test('a search among large plants brings them a few at a time, and leaves none out', async (store) => {
    await store.createPlants(
      [1n, 2n, 3n, 4n, 5n].map((id) => plant(id, 'x'.repeat(limits.store.listPageChars / 2))),
    );
    const first = await search(store, { limit: 5, budgetMs: 60_000 });
    assert.deepEqual([first.plants.length, first.next], [2, '2']);
    const second = await search(store, { from: '2', limit: 5, budgetMs: 60_000 });
    assert.deepEqual([second.plants.length, second.next], [2, '4']);
  });

  test('the newest plants come first, page by page, and each comes once', async (store) => {
    const ids = [5n, int64Max, -3n, 2n, int64Min, 9n, 1n];
    for (const id of ids) {
      await store.createPlants([plant(id, `plant ${id}`, id > 2n ? 'high' : undefined)]);
      await nextMs();
    }
    assert.deepEqual(await newestIds(store, {}, 10), ids.toReversed());
    assert.deepEqual(await newestIds(store, {}, 2), ids.toReversed());
    assert.deepEqual(await newestIds(store, { tag: 'high' }, 1), [9n, int64Max, 5n]);
    const newest = { isNewestFirst: true, budgetMs: 60_000 };
    assert.equal((await search(store, { ...newest, limit: 7 })).next, undefined);
    const { next: from } = await search(store, { ...newest, limit: 3 });
    await store.createPlants([plant(77n, 'newer than the first page')]);
    const second = await search(store, { ...newest, limit: 10, from });
    assert.deepEqual(idsOf(second.plants), ids.toReversed().slice(3));
    for (const wrong of ['', 'abc', 'x1.2', `${from}.1.2.3.4`, '7'])
      assert.equal(
        await store.searchPlants({ ...newest, limit: 1, from: wrong }),
        undefined,
        wrong,
      );
    for (const wrong of ['', 'abc', '1.2', '9223372036854775808'])
      assert.equal(await store.searchPlants({ limit: 1, from: wrong, budgetMs: 1 }), undefined);
  });

  test('a search for the newest plants goes through all plants in as many steps as it takes', async (store) => {
    const rare = [1n, 799n, 3_000n, 5_999n];
    for (let from = 0n; from < 6_000n; from += 600n)
      await store.createPlants(
        Array.from({ length: 600 }, (_, index) => {
          const id = from + BigInt(index);
          return plant(id, `plant ${id} ${'x'.repeat(40)}`, rare.includes(id) ? 'rare' : 'often');
        }),
      );
    const steps = await searchSteps(store, {
      tag: 'rare',
      isNewestFirst: true,
      limit: 2,
      budgetMs: 0,
    });
    const found = steps.flatMap(({ plants }) => idsOf(plants));
    assert.deepEqual(found, rare.toReversed());
    assert(steps.length > 3, `${steps.length} steps`);
    const listed = await Array.fromAsync(store.listPlants({ tag: 'rare', limit: 3 }, true));
    assert.deepEqual(idsOf(listed), rare.toReversed().slice(0, 3));
  });

  test('the newest plants are found by time, also if another store brought plants of earlier times', async (store) => {
    const hourMs = 3_600_000;
    const oldMs = Date.now() - 10 * hourMs;
    await store.createPlants([plant(1n, 'first')]);
    await nextMs();
    const middleMs = Date.now();
    await store.createPlants([plant(2n, 'second'), plant(3n, 'third')]);
    await store.createPlants([
      { ...plant(8n, 'copied'), createdAtMs: oldMs },
      { ...plant(9n, 'copied'), createdAtMs: oldMs + 1 },
    ]);
    await nextMs();
    await store.createPlants([plant(4n, 'fourth')]);
    const ids = async (filter: PlantMatch) => (await newestIds(store, filter, 2)).sort();
    assert.deepEqual(await ids({}), [1n, 2n, 3n, 4n, 8n, 9n]);
    assert.deepEqual(await ids({ untilMs: middleMs }), [1n, 8n, 9n]);
    assert.deepEqual(await ids({ sinceMs: middleMs }), [2n, 3n, 4n]);
    assert.deepEqual(await ids({ sinceMs: oldMs + 1, untilMs: middleMs }), [1n, 9n]);
    assert.deepEqual(await ids({ untilMs: oldMs }), []);
    assert.deepEqual(await ids({ sinceMs: Date.now() + 1_000_000 }), []);
    const listed = await listAll(store, { limit: 10, sinceMs: oldMs + 1, untilMs: middleMs });
    assert.deepEqual(idsOf(listed), [1n, 9n]);
  });

  test('a count and a search go through all plants in as many steps as it takes, and say when they have seen the last', async (store) => {
    const { searchWindowPlants } = limits.store;
    const plants = Array.from({ length: 2 * searchWindowPlants + 1 }, (_, index) =>
      plant(BigInt(index), 'Alder', index % 3 === 0 ? 'Alnus' : undefined),
    );
    await store.createPlants(plants);
    const counts: number[] = [];
    let after: bigint | undefined;
    // With no time at all, each step looks at one window.
    do {
      const step = { tag: 'Alnus', after, budgetMs: 0 };
      const { plants, next } = await store.countMatches(step);
      counts.push(plants);
      after = next;
    } while (after !== undefined);
    // The last part looks behind the last plant.
    assert.deepEqual(counts, [84, 83, 0, 0]);

    const steps = await searchSteps(store, { tag: 'Alnus', limit: 50, budgetMs: 0 });
    const found = idsOf(steps.flatMap((step) => step.plants));
    assert.deepEqual(found, idsOf(plants.filter(({ tag }) => tag === 'Alnus')));
    assert(steps.length > 3, `${steps.length} steps`);
  });

  test('a snapshot is of one moment, in ascending order of id, whatever is created while it is read', async (store) => {
    const plants = Array.from({ length: 200 }, (_, index) =>
      plant(BigInt(index), 'x'.repeat(10_000), index % 2 === 0 ? '' : undefined),
    );
    await store.createPlants(plants.toReversed());
    await using snapshot = await store.openSnapshot();
    const read: PlantToCreate[] = [];
    for await (const page of snapshot.pages()) {
      await store.createPlants([
        plant(-1n - BigInt(read.length), 'before'),
        plant(1_000n + BigInt(read.length), 'behind'),
      ]);
      read.push(...page.map(({ createdAtMs: _, ...rest }) => rest));
    }
    assert.deepEqual(read, plants);
    assert.equal(await snapshot.countPlants(), 200);
    assert((await store.countMatches({ budgetMs: 1_000 })).plants > 202);
  });

  test('plants that lie close together and far apart are all listed, and are all in a snapshot', async (store) => {
    const dense = Array.from({ length: 2 * limits.postgres.pageRows }, (_, index) =>
      BigInt(index - 1_000),
    );
    const sparse = Array.from(
      { length: 30 },
      (_, index) => 10n ** 6n + (2n ** BigInt(index) - 1n) * 2n ** 32n,
    );
    const ids = [int64Min, int64Min + 1n, ...dense, ...sparse, int64Max - 1n, int64Max];
    await store.createPlants(ids.map((id) => plant(id, 'Alder')));
    const listed = await listAll(store, { limit: ids.length + 1 });
    assert.deepEqual(idsOf(listed), ids);
    assert.equal((await listAll(store, { limit: 8_999, after: -2n })).length, 8_999);
    await using snapshot = await store.openSnapshot();
    const read: bigint[] = [];
    for await (const page of snapshot.pages()) read.push(...idsOf(page));
    assert.deepEqual(read, ids);
  });

  test('plants that are copied keep their time and their token, and have the outcomes of a create', async (store) => {
    await store.createPlants([plant(2n, 'Birch'), plant(3n, 'Cherry')]);
    const copied = [
      { ...plant(int64Min, 'Alder', ''), createdBy: 1, createdAtMs: 1 },
      { ...plant(int64Max, 'Yew'), createdBy: -1, createdAtMs: 8_640_000_000_000_000 },
      { ...plant(2n, 'Birch'), createdBy: 1, createdAtMs: 2 },
      { ...plant(3n, 'cherry'), createdBy: 1, createdAtMs: 3 },
    ];
    assert.deepEqual(await store.createPlants(copied), ['created', 'created', 'same', 'taken']);
    await using snapshot = await store.openSnapshot();
    const read: CopiedPlant[] = [];
    for await (const page of snapshot.pages()) read.push(...page);
    const [first, second, third, last, ...more] = read;
    assert.deepEqual([first, last, more], [copied[0], copied[1], []]);
    assert.deepEqual([second?.createdBy, third?.createdBy, third?.name], [0, 0, 'Cherry']);
    assert((second?.createdAtMs ?? 0) > 1_000_000_000_000);
  });

  test('plants that came without a token are told apart from those of a token', async (store) => {
    const ids = [0, -1, await operatorIn(store, 'app')];
    await store.createPlants(
      ids.map((createdBy, index) => ({ ...plant(BigInt(index), 'Alder'), createdBy })),
    );
    for (const [index, createdBy] of ['environment', 'import', 'app'].entries()) {
      const found = await listAll(store, { limit: 10, createdBy });
      const rows = found.map((one) => [one.id, one.createdBy]);
      assert.deepEqual(rows, [[BigInt(index), createdBy]]);
    }
    assert.deepEqual(await listAll(store, { limit: 10, createdBy: 'nobody' }), []);
  });

  test('batches of concurrent callers take effect one after the other', async (store) => {
    const batches = Array.from({ length: 50 }, (_, caller) => [
      plant(1n, `caller ${caller}`),
      plant(BigInt(100 + caller), 'own'),
    ]);
    const outcomes = await Promise.all(batches.map((batch) => store.createPlants(batch)));
    assert.equal(outcomes.filter(([shared]) => shared === 'created').length, 1);
    assert.equal(outcomes.filter(([shared]) => shared === 'taken').length, 49);
    assert(outcomes.every(([, own]) => own === 'created'));
    assert.equal((await store.countMatches({ budgetMs: 1_000 })).plants, 51);
  });

  test('a token is kept with its hash and times and found by its hash, and its name is taken until it is revoked', async (store) => {
    const times = { createdAtMs: 1_000, expiresAtMs: 2_000 };
    const made = { ...times, hash: hash(1), createdBy: 'anna' };
    assert.equal(await make(store, 'app', made), 'created');
    assert.equal(await make(store, 'app', { ...made, hash: hash(2) }), 'name taken');
    assert.equal(await store.revokeToken('app', 1_500, 'https://issuer Ёлка 🌲'), true);
    assert.equal(await store.revokeToken('app', 1_600), false);
    assert.equal(await store.revokeToken('nobody', 1_600), false);
    assert.equal(await make(store, 'app', { hash: hash(3), role: 'operate' }), 'created');

    const [first, second, ...more] = await store.listTokens();
    assert(first && second && more.length === 0);
    const revoked = { revokedAtMs: 1_500, revokedBy: 'https://issuer Ёлка 🌲' };
    const expected = tokenRecord(first.id, 1, 'app', { ...times, createdBy: 'anna', ...revoked });
    assert.deepEqual(plain(first), plain(expected));
    const { role, expiresAtMs, revokedAtMs, revokedBy } = second;
    assert.equal(role, 'operate');
    assert.deepEqual([expiresAtMs, revokedAtMs, revokedBy], [undefined, undefined, undefined]);
    const found = await store.findTokens([1, 2, 3].map(hash));
    const secrets = found.map((token) => [secretOf(token), token.hash.length, token.revokedAtMs]);
    assert.deepEqual(
      new Set(secrets),
      new Set([
        [1, 32, 1_500],
        [3, 32, undefined],
      ]),
    );
    assert.deepEqual(await store.findTokens([hash(4)]), []);
  });

  test('a token has a rate, which can be changed and taken away', async (store) => {
    const rateOf = async () => (await store.liveTokens(1_000)).map(({ rate }) => rate);
    await make(store, 'app', { rate: { perDay: 86_400, burst: 7 } });
    await make(store, 'other');
    assert.deepEqual(await rateOf(), [{ perDay: 86_400, burst: 7 }, undefined]);
    assert.equal(await store.limitToken('other', { perDay: 1, burst: 100_000_000 }), true);
    assert.equal(await store.limitToken('app', undefined), true);
    assert.deepEqual(await rateOf(), [undefined, { perDay: 1, burst: 100_000_000 }]);
    assert.equal(await store.limitToken('nobody', undefined), false);
    const copied = { ...tokenRecord(9, 3, 'copied', {}), rate: { perDay: 24, burst: 1 } };
    await store.copyTokens([copied], 10, 1_000);
    assert.deepEqual((await rateOf()).at(-1), { perDay: 24, burst: 1 });
  });

  test('tokens that are neither revoked nor expired are limited in number', async (store) => {
    const makeAt = (name: string, createdAtMs: number, expiresAtMs?: number) =>
      make(store, name, { createdAtMs, expiresAtMs }, 2);
    assert.equal(await makeAt('a', 0, 100), 'created');
    assert.equal(await makeAt('b', 0), 'created');
    assert.equal(await makeAt('c', 50), 'too many');
    assert.equal(await makeAt('c', 100), 'created');
    await store.revokeToken('b', 120);
    assert.equal(await makeAt('d', 130), 'created');
  });

  test('of all tokens those are known that are live at a time, and how many are not', async (store) => {
    const namesAt = async (nowMs: number) =>
      (await store.liveTokens(nowMs)).map(({ name }) => name);
    const states = { valid: 0, rotated: 0, expired: 0, revoked: 0 };
    assert.deepEqual(await store.countTokens(0, 0), { byState: states, inUse: 0 });
    for (const name of ['revoked', 'for good']) await make(store, name);
    for (const name of ['until 100', 'revoked until 100'])
      await make(store, name, { expiresAtMs: 100 });
    await store.revokeToken('revoked', 50);
    await store.revokeToken('revoked until 100', 50);
    const ids = (await store.listTokens()).map(({ id }) => id);
    await store.recordTokenUse(ids.map((id) => ({ id, atMs: 60 })));

    const names = [await namesAt(99), await namesAt(100)];
    assert.deepEqual(names, [['for good', 'until 100'], ['for good']]);
    const before = { ...states, valid: 2, revoked: 2 };
    const after = { ...states, valid: 1, expired: 1, revoked: 2 };
    assert.deepEqual(await store.countTokens(99, 59), { byState: before, inUse: 2 });
    assert.deepEqual(await store.countTokens(100, 59), { byState: after, inUse: 1 });
    assert.deepEqual(await store.countTokens(100, 60), { byState: after, inUse: 0 });
  });

  test('a rotated token has two secrets until the grace is over, and both have its role, its rate and its length of life', async (store) => {
    const kept = { role: 'operate', rate: { perDay: 9, burst: 3 } } as const;
    await make(store, 'app', { ...kept, hash: hash(1), createdAtMs: 100, expiresAtMs: 1_100 });
    const times = { atMs: 500, graceMs: 50, validMs: undefined };
    const rotation = { name: 'app', hash: hash(2), ...times, by: 'carl' };
    const rotated = { createdAtMs: 500, expiresAtMs: 1_500, previousUntilMs: 550 };
    assert.deepEqual(plainRotation(await store.rotateToken(rotation, 10)), {
      ...{ name: 'app', ...kept, ...rotated, createdBy: 'carl' },
    });

    const live = async (nowMs: number) => (await store.liveTokens(nowMs)).map(secretOf);
    assert.deepEqual([await live(549), await live(550)], [[1, 2], [2]]);
    const [old, current] = await store.listTokens();
    assert.deepEqual([old?.rotatedAtMs, old?.revokedAtMs, old?.expiresAtMs], [500, undefined, 550]);
    assert.deepEqual([current?.rotatedAtMs, current?.expiresAtMs], [undefined, 1_500]);
    const persons = [old?.createdBy, old?.revokedBy, current?.createdBy];
    assert.deepEqual(persons, [undefined, undefined, 'carl']);
    const byState = async (nowMs: number) => (await store.countTokens(nowMs, 0)).byState;
    assert.deepEqual(await byState(549), { valid: 1, rotated: 1, expired: 0, revoked: 0 });
    assert.deepEqual(await byState(550), { valid: 1, rotated: 0, expired: 1, revoked: 0 });

    assert.equal(await store.limitToken('app', undefined), true);
    const rates = (await store.listTokens()).map(({ rate }) => rate);
    assert.deepEqual(rates, [undefined, undefined]);
    const third = { ...rotation, hash: hash(3), atMs: 540, validMs: 10 };
    assert.deepEqual(await store.rotateToken(third, 10), { inForceUntilMs: 550 });
    const late = plainRotation(await store.rotateToken({ ...third, atMs: 550 }, 10));
    assert.equal(late.expiresAtMs, 560, 'its grace was over');
    assert.equal(await store.revokeToken('app', 555), true);
    assert.deepEqual(await live(556), []);
    const revoked = (await store.listTokens()).map(({ revokedAtMs }) => revokedAtMs);
    assert.deepEqual(revoked, [555, 555, 555]);
    assert.equal(await store.rotateToken(third, 10), 'not in force');
  });

  test('a rotation without a grace ends all earlier secrets, and one with a grace needs room for two', async (store) => {
    await make(store, 'app', { hash: hash(1) });
    await make(store, 'other', { hash: hash(8) });
    const rotation = { name: 'app', hash: hash(2), atMs: 5, graceMs: 10, validMs: undefined };
    assert.equal(await store.rotateToken(rotation, 2), 'too many');
    assert(typeof (await store.rotateToken(rotation, 3)) === 'object');
    const atOnce = { ...rotation, hash: hash(3), atMs: 6, graceMs: 0, by: 'dora' };
    const last = await store.rotateToken(atOnce, 3);
    assert.deepEqual(plainRotation(last).previousUntilMs, undefined);
    assert.deepEqual((await store.liveTokens(7)).map(secretOf), [8, 3]);
    const listed = await store.listTokens();
    const revocations = listed.map(({ revokedAtMs, revokedBy }) => [revokedAtMs, revokedBy]);
    const [byDora, none] = [
      [6, 'dora'],
      [undefined, undefined],
    ];
    assert.deepEqual(revocations, [byDora, none, byDora, none]);
    assert.equal(listed[3]?.createdBy, 'dora');

    await make(store, 'late', { hash: hash(4), expiresAtMs: 8 });
    const late = { ...rotation, name: 'late', hash: hash(5), atMs: 9 };
    const ofLate = await store.rotateToken(late, 9);
    assert.equal(plainRotation(ofLate).expiresAtMs, 17, 'an expired token can be rotated');
    assert.deepEqual((await store.liveTokens(10)).map(secretOf), [8, 3, 5]);
  });

  test('no copy of a token undoes a rotation, and both secrets are copied', async (store) => {
    const old = tokenRecord(7, 1, 'app', {});
    await store.copyTokens([old], 10, 100);
    const rotated = { ...old, rotatedAtMs: 50, expiresAtMs: 150 };
    const both = [rotated, tokenRecord(9, 2, 'app', {})];
    for (let times = 0; times < 2; times += 1)
      assert('ids' in (await store.copyTokens(both, 10, 100)));
    assert('ids' in (await store.copyTokens([old], 10, 100)));
    const all = (await store.listTokens()).map(plain);
    const copied = both.map((token, index) => plain({ ...token, id: all[index]?.id ?? 0 }));
    assert.deepEqual(all, copied);
    assert.deepEqual((await store.liveTokens(150)).map(secretOf), [2]);
  });

  test('tokens of another store are told by their hashes, and no revocation is undone', async (store) => {
    for (const [index, name] of ['revoked here', 'revoked there', 'only here'].entries())
      await make(store, name, { hash: hash(index + 1) });
    await store.revokeToken('revoked here', 50, 'bob');
    const [here, there] = await store.listTokens();
    assert(here && there);
    await store.recordTokenUse([{ id: here.id, atMs: 40 }]);

    const copied = [
      tokenRecord(7, 1, 'revoked here', { lastUsedAtMs: 30, createdBy: 'anna' }),
      tokenRecord(8, 2, 'revoked there', { revokedAtMs: 60, revokedBy: 'eve', lastUsedAtMs: 30 }),
      tokenRecord(9, 4, 'revoked there', { role: 'operate', expiresAtMs: 999, lastUsedAtMs: 70 }),
      tokenRecord(10, 5, 'long gone', { revokedAtMs: 20, createdBy: 'anna', revokedBy: 'bob' }),
    ];
    const result = await store.copyTokens(copied, 10, 100);
    assert('ids' in result);

    const [first, second, third, fourth, fifth, ...more] = await store.listTokens();
    assert(first && second && third && fourth && fifth && more.length === 0);
    assert.deepEqual([first.revokedAtMs, first.lastUsedAtMs], [50, 40]);
    assert.deepEqual([second.revokedAtMs, second.lastUsedAtMs], [60, 30]);
    assert.deepEqual([first.createdBy, first.revokedBy], ['anna', 'bob']);
    assert.deepEqual([second.createdBy, second.revokedBy], [undefined, 'eve']);
    assert.deepEqual([third.name, third.revokedAtMs], ['only here', undefined]);
    assert.deepEqual(plain(fourth), plain({ ...copied[2], id: fourth.id } as TokenRecord));
    assert.deepEqual(plain(fifth), plain({ ...copied[3], id: fifth.id } as TokenRecord));
    assert.deepEqual([...result.ids].sort(), [
      [10, fifth.id],
      [7, here.id],
      [8, there.id],
      [9, fourth.id],
    ]);
    assert.deepEqual(await store.copyTokens(copied, 10, 100), result);
    assert.equal((await store.listTokens()).length, 5);
  });

  test('no token of another store comes in when one has the name of another one here, or they would be too many', async (store) => {
    await make(store, 'app', { hash: hash(1) });
    const copied = [tokenRecord(1, 2, 'new', {}), tokenRecord(2, 3, 'app', {})];
    assert.deepEqual(await store.copyTokens(copied, 10, 100), { nameTaken: 'app' });
    const others = [
      tokenRecord(1, 2, 'new', {}),
      tokenRecord(2, 3, 'expired', { expiresAtMs: 100 }),
    ];
    assert.deepEqual(await store.copyTokens(others, 1, 100), { tooMany: 2 });
    assert.equal((await store.listTokens()).length, 1);
    assert('ids' in (await store.copyTokens(others, 2, 100)));
  });

  test('a subject is known by its hash, names its plants, and is no token', async (store) => {
    const [first = 0, again, second = 0] = await Promise.all(
      [1, 1, 2].map((hash) => store.ensureSubject(subjectOf(hash, 1), twoSubjects)),
    );
    assert.equal(again, first);
    assert.notEqual(second, first);

    await store.createPlants([{ ...plant(1n, 'Alder'), createdBy: second }]);
    assert.equal((await store.getPlant(1n))?.createdBy, 'https://issuer 2');
    const bySecond = { createdBy: 'https://issuer 2', limit: 10, budgetMs: 1_000 };
    assert.deepEqual(idsOf((await search(store, bySecond)).plants), [1n]);
    assert.deepEqual(await store.liveTokens(2), []);
    assert.deepEqual((await store.countTokens(2, 0)).byState, {
      valid: 0,
      rotated: 0,
      expired: 0,
      revoked: 0,
    });
    assert.equal(await store.revokeToken('https://issuer 1', 2), false);
    assert.equal(await make(store, 'app', {}, 1), 'created');
    const listed = (await store.listTokens()).map(({ role }) => role);
    assert.deepEqual(listed, ['subject', 'subject', 'create']);
    const copied = await store.copyTokens(await store.listTokens(), 1, 100);
    assert('ids' in copied && copied.ids.get(second) === second);
  });

  test('one subject more than the bound makes the store forget the subject that was not used for the longest time', async (store) => {
    const use = (hash: number, atMs: number) =>
      store.ensureSubject(subjectOf(hash, atMs), twoSubjects);
    const names = async () =>
      Promise.all([1n, 2n, 3n].map(async (id) => (await store.getPlant(id))?.createdBy));
    const create = (id: bigint, createdBy: number) =>
      store.createPlants([{ ...plant(id, 'Alder'), createdBy }]);

    const first = await use(1, 1_000);
    await create(1n, first);
    const second = await use(2, 2_000);
    await create(2n, second);
    assert.equal(await use(1, 3_000), first);
    const third = await use(3, 2_900);
    await create(3n, third);
    assert.deepEqual(await names(), ['https://issuer 1', 'https://issuer 2', 'https://issuer 3']);

    const fourth = await use(4, 3_100);
    const session = { hash: Buffer.alloc(32, 9), createdAtMs: 3_100, expiresAtMs: 99_000 };
    await store.createSession({ ...session, tokenId: first }, 1);
    const again = await use(2, 9_000);
    assert.deepEqual(new Set([first, second, third, fourth, again]).size, 5, 'no id comes again');
    const issued = (await store.listTokens()).map(({ name }) => name);
    assert.deepEqual(issued, ['https://issuer 1', 'https://issuer 4', 'https://issuer 2']);
    assert.deepEqual(await names(), ['https://issuer 1', 'forgotten subject', 'forgotten subject']);
    const byNone = { createdBy: 'environment', limit: 10, budgetMs: 1_000 };
    assert.deepEqual((await search(store, byNone)).plants, []);
  });

  test('a clock that was ahead leaves no last use and no session in the future', async (store) => {
    const dayMs = 24 * 3_600_000;
    const [nowMs, aheadMs] = [1_000 * dayMs, 1_400 * dayMs];
    const tokenId = await operatorIn(store, 'eve');
    const signIn = (number: number, createdAtMs: number) => {
      const expiresAtMs = createdAtMs + limits.access.sessionMs;
      return store.createSession({ hash: hash(number), tokenId, createdAtMs, expiresAtMs }, 1);
    };
    const isSignedIn = async (number: number) =>
      (await store.findSessionToken(hash(number), nowMs)) !== undefined;
    const lastUse = async () => (await store.listTokens())[0]?.lastUsedAtMs;

    await signIn(1, aheadMs);
    assert.deepEqual([await isSignedIn(1), await lastUse()], [false, aheadMs]);
    await store.recordTokenUse([{ id: tokenId, atMs: nowMs }]);
    assert.equal(await lastUse(), nowMs);
    await store.recordTokenUse([{ id: tokenId, atMs: nowMs - 1_000 }]);
    assert.equal(await lastUse(), nowMs);

    await signIn(2, nowMs);
    await signIn(3, nowMs + 1);
    // The newest of the token stays, and not the one from the future.
    assert.deepEqual(await Promise.all([1, 2, 3].map(isSignedIn)), [false, false, true]);
  });

  test('a session leads to its token until it expires or is removed, and counts as a use of the token', async (store) => {
    const tokenId = await operatorIn(store, 'eve');
    const [first, second] = [hash(1), hash(2)];
    const tokenOf = async (hash: Uint8Array, nowMs: number) =>
      (await store.findSessionToken(hash, nowMs))?.name;
    await store.createSession({ hash: first, tokenId, createdAtMs: 100, expiresAtMs: 200 }, 10);
    await store.createSession({ hash: second, tokenId, createdAtMs: 100, expiresAtMs: 300 }, 10);

    assert.equal(await tokenOf(first, 199), 'eve');
    assert.equal(await tokenOf(first, 200), undefined);
    assert.equal(await tokenOf(second, 299), 'eve');
    assert.equal(await tokenOf(hash(3), 100), undefined);
    assert.equal((await store.listTokens())[0]?.lastUsedAtMs, 100);
    const removed = await Promise.all([1, 2, 3].map(() => store.removeSession(second)));
    assert.deepEqual(removed.toSorted(), [false, false, true]);
    assert.equal(await tokenOf(second, 299), undefined);
    assert.equal(await tokenOf(first, 199), 'eve');
    await store.revokeToken('eve', 150);
    assert.equal((await store.findSessionToken(first, 199))?.revokedAtMs, 150);
  });

  test('a session beyond the limit of its token ends the oldest session of this token alone, and all sessions of one token end at once', async (store) => {
    const [eve, bob] = [await operatorIn(store, 'eve'), await operatorIn(store, 'bob')];
    for (const [index, tokenId] of [bob, eve, eve, eve, eve].entries()) {
      const times = { createdAtMs: index, expiresAtMs: index + 100 };
      await store.createSession({ hash: hash(index), tokenId, ...times }, 2);
    }
    const found = await signedIn(store, [0, 1, 2, 3, 4].map(hash));
    assert.deepEqual(found, ['bob', undefined, undefined, 'eve', 'eve']);
    await store.removeSessionsOf(eve);
    assert.deepEqual(await signedIn(store, [0, 3, 4].map(hash)), ['bob', undefined, undefined]);
  });

  test('a sign-in removes the sessions that are over: expired ones, and those of tokens that are not valid', async (store) => {
    const [eve, bob] = [await operatorIn(store, 'eve'), await operatorIn(store, 'bob')];
    const mallory = await operatorIn(store, 'mallory', 60);
    const sessions = [
      { tokenId: eve, expiresAtMs: 50 },
      { tokenId: eve, expiresAtMs: 100 },
      { tokenId: bob, expiresAtMs: 100 },
      { tokenId: mallory, expiresAtMs: 100 },
    ];
    for (const [index, session] of sessions.entries())
      await store.createSession({ hash: hash(index), createdAtMs: 1, ...session }, 10);
    await store.revokeToken('bob', 40);

    const last = { hash: hash(4), tokenId: eve, createdAtMs: 60, expiresAtMs: 160 };
    await store.createSession(last, 10);

    const found = await signedIn(store, [0, 1, 2, 3].map(hash), 1);
    assert.deepEqual(found, [undefined, 'eve', undefined, undefined]);
    assert.deepEqual(await signedIn(store, [last.hash], 60), ['eve']);
  });

  test('the last backup that was recorded and the last heartbeat are known', async (store) => {
    assert.deepEqual([await store.listBackups(), await store.lastBeat()], [[], undefined]);
    for (const atMs of [1, 2]) {
      const backup = { file: `/backups/${atMs}.db`, finishedAtMs: atMs, plants: 3, digest: 'ab' };
      await store.recordBackup(backup);
      await store.beat(atMs);
      assert.deepEqual({ ...(await store.listBackups())[0] }, backup);
      assert.equal(await store.lastBeat(), atMs);
    }
  });

  test('a closed store refuses to write, and closing it again is safe', async (store) => {
    await store.close();
    await store.close();
    await assert.rejects(store.createPlants([plant(1n, 'late')]), { name: 'StoreError' });
  });
}

function plant(id: bigint, name: string, tag?: string): PlantToCreate {
  return { id, name, tag, createdBy: 0 };
}

/** Makes a token to create plants, for good, whose hash is its name, but for what `more` changes. */
function make(store: Store, name: string, more: Partial<NewToken> = {}, liveMax = 10) {
  const usual = { role: 'create', createdAtMs: 0, expiresAtMs: undefined } as const;
  return store.createToken(
    { name, hash: Buffer.from(name.padEnd(32)), ...usual, ...more },
    liveMax,
  );
}

/** @returns the id of a new token with the role `operate` */
async function operatorIn(store: Store, name: string, expiresAtMs?: number): Promise<number> {
  assert.equal(await make(store, name, { role: 'operate', expiresAtMs }), 'created');
  return (await store.listTokens()).at(-1)?.id ?? assert.fail('no token');
}

/** The names of the tokens that sessions lead to. */
async function signedIn(store: Store, sessions: readonly Buffer[], nowMs = 10) {
  const tokens = await Promise.all(sessions.map((one) => store.findSessionToken(one, nowMs)));
  return tokens.map((token) => token?.name);
}

const twoSubjects = { subjectsMax: 2, subjectIdleMs: 1_000 };

function subjectOf(hash: number, atMs: number) {
  return { name: `https://issuer ${hash}`, hash: Buffer.alloc(32, hash), atMs };
}

function tokenRecord(
  id: number,
  hash: number,
  name: string,
  more: Partial<TokenRecord>,
): TokenRecord {
  const usual = {
    role: 'create',
    createdAtMs: 5,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    rotatedAtMs: undefined,
    lastUsedAtMs: undefined,
    rate: undefined,
    createdBy: undefined,
    revokedBy: undefined,
  } as const;
  return { id, hash: Buffer.alloc(32, hash), name, ...usual, ...more };
}

function hash(secret: number): Buffer {
  return Buffer.alloc(32, secret);
}

/** As `hash` got it. */
function secretOf(token: TokenRecord): number {
  return token.hash[0] ?? 0;
}

function plainRotation(outcome: RotatedToken | RefusedRotation) {
  assert(typeof outcome === 'object' && 'token' in outcome, JSON.stringify(outcome));
  const { hash: _, ...token } = outcome.token;
  return { ...token, previousUntilMs: outcome.previousUntilMs };
}

/** Its hash may be a Buffer or not. */
function plain(token: TokenRecord) {
  return { ...token, hash: Buffer.from(token.hash).toString('hex') };
}

function idsOf(plants: readonly { readonly id: bigint }[]): bigint[] {
  return plants.map(({ id }) => id);
}

async function listAll(store: Store, filter: PlantFilter) {
  return Array.fromAsync(store.listPlants(filter));
}

/** All pages, one after the other. */
async function newestIds(store: Store, filter: PlantMatch, limit: number) {
  const steps = await searchSteps(store, {
    ...filter,
    isNewestFirst: true,
    limit,
    budgetMs: 60_000,
  });
  return steps.flatMap(({ plants }) => idsOf(plants));
}

/** The steps of a search to the end of the store. */
async function searchSteps(store: Store, wanted: PlantSearch) {
  const steps: FoundPlants[] = [];
  let from: string | undefined;
  do {
    const step = await search(store, { ...wanted, from });
    steps.push(step);
    from = step.next;
  } while (from !== undefined);
  return steps;
}

async function search(store: Store, wanted: PlantSearch): Promise<FoundPlants> {
  return (await store.searchPlants(wanted)) ?? assert.fail(`${wanted.from} is no place`);
}

/** The next plants have another time than the last ones. */
async function nextMs(): Promise<void> {
  const nowMs = Date.now();
  while (Date.now() === nowMs) await setTimeout(1);
}
