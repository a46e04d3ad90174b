export type Environment = Readonly<Record<string, string | undefined>>;

/** The operator's flags are for the operator's own service, and not for another process of it. */
export function withoutSettings(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('PLANT_STORE_')),
  );
}
