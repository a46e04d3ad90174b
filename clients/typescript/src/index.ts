export { createClient } from './client.ts';
export type { ErrorCode } from './error-code.ts';
export { GaveUpError, InvalidInputError, PlantStoreError, RefusedError } from './errors.ts';
export { createIdSource, newId } from './new-id.ts';
export type {
  ClientOptions,
  CreatePlantOptions,
  CreatePlantsOptions,
  CreateResult,
  CreateTotals,
  NewPlant,
  PlantStoreClient,
  RetriedFailure,
  StoredPlant,
} from './types.ts';
