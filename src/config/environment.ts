/** The variables of the environment that the program was started in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The operator's settings are for the operator's own service, and not for one on a scratch store. */
export function withoutSettings(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(PLANT_STORE_|PG)/.test(name)),
  );
}
