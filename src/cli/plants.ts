import { UsageError } from '../config/values.ts';
import { int64FromDigits } from '../contract/int64.ts';
import { newPlantLine } from '../contract/plant.ts';
import type { StoredPlant } from '../store/store.ts';
import { openReader } from '../stores.ts';
import { CommandError, command } from './command.ts';

export const plantsGet = command({
  name: 'plants get',
  positionals: ['ID'],
  summary: 'Print one plant as a line of JSON.',
  flags: ['store', 'details'],
  examples: ['plant-store plants get 1', 'plant-store plants get 9223372036854775807 --details'],
  async run({ values, positionals: [digits = ''] }, terminal) {
    const id = int64FromDigits(digits);
    if (id === undefined) {
      throw new UsageError(`ID must be an integer from -9223372036854775808 to 9223372036854775807; it is ${JSON.stringify(digits)}`);
    }
    await using store = openReader(values.store);
    const plant = await store.getPlant(id);
    if (plant === undefined) throw new CommandError(`there is no plant with the id ${id} in ${store.location}`);
    terminal.print(plantLine(plant, values.details));
    return 0;
  },
});

export const plantsList = command({
  name: 'plants list',
  positionals: [],
  summary: 'Print plants in ascending order of id, each as a line of JSON.',
  flags: ['store', 'tag', 'name-contains', 'after', 'limit', 'details'],
  examples: [
    'plant-store plants list',
    'plant-store plants list --name-contains alder --limit 10',
    'plant-store plants list --tag Alnus --after 1000',
  ],
  async run({ values }, terminal) {
    await using store = openReader(values.store);
    const { tag, 'name-contains': nameContains, after, limit } = values;
    let printed = 0;
    let last: bigint | undefined;
    // One more than asked for tells whether there are more.
    for await (const plant of store.listPlants({ tag, nameContains, after, limit: limit + 1 })) {
      if (printed === limit) {
        terminal.note(`There are more; go on with --after ${last}, or raise --limit.`);
        break;
      }
      await terminal.print(plantLine(plant, values.details));
      last = plant.id;
      printed += 1;
    }
    return 0;
  },
});

export const plantsCount = command({
  name: 'plants count',
  positionals: [],
  summary: 'Print how many plants the store holds.',
  flags: ['store'],
  examples: ['plant-store plants count'],
  async run({ values }, terminal) {
    await using store = openReader(values.store);
    terminal.print(`${await store.countPlants()}`);
    return 0;
  },
});

function plantLine(plant: StoredPlant, details: boolean): string {
  if (!details) return newPlantLine(plant);
  return newPlantLine(plant, { createdAt: new Date(plant.createdAtMs).toISOString(), createdBy: plant.createdBy });
}
