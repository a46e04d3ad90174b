import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingPlants } from '../../src/ops/metrics/plant-count.ts';

test('a backup lacks the plants of the last count, and those that were created since the count', () => {
  assert.equal(missingPlants({ plants: 100 }, 130), 30);
  assert.equal(missingPlants({ plants: 130 }, 130), 0);
});

test('it is not known what a backup lacks before the first count, and if the backup has more plants', () => {
  assert.equal(missingPlants({ plants: 0 }, undefined), undefined);
  assert.equal(missingPlants({ plants: 131 }, 130), undefined);
});
