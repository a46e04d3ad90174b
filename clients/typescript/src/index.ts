export {
  type ClientOptions,
  type CreatePlantOptions,
  createClient,
  type PlantStoreClient,
  type StoredPlant,
} from './client.ts';
export type { CreatePlantsOptions, CreateResult, CreateTotals } from './create-plants.ts';
export type { ErrorCode } from './error-code.ts';
export { GaveUpError, InvalidInputError, PlantStoreError, RefusedError } from './errors.ts';
export { createIdSource, newId } from './new-id.ts';
export type { NewPlant } from './plant.ts';
