/** Where it is noted what operators do. No token may ever get into it. */
export type OperatorLog = Record<'info' | 'warn', (fields: object, message: string) => void>;
