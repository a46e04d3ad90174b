/** The variables of the environment that the program was started in. */
export type Environment = Readonly<Record<string, string | undefined>>;
