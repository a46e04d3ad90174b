/** `createdBy` of plants that came with the fixed token of the environment, or by `import`. */
export const fixedTokenId = 0;
export const importId = -1;
/** `createdBy` of plants that were copied after their subject was forgotten. */
export const forgottenId = -2;

/** Stand for a token's name in lists: plants of the fixed token, and plants of `import`. */
export const fixedTokenName = 'environment';
export const importName = 'import';
export const namesOfNoToken: readonly string[] = [fixedTokenName, importName];

/** Stands for the name of every subject that the store has forgotten. */
export const forgottenName = 'forgotten subject';

export type Role = 'create' | 'operate';
export const roles: readonly Role[] = ['create', 'operate'];

/** How many creates a token may send to a node. */
export interface Rate {
  /** On average. */
  readonly perDay: number;
  /** At once, after a pause. */
  readonly burst: number;
}

/**
 * Times are milliseconds since the epoch. A subject of an identity provider is a record, too, so
 * that plants name the subject: such a record has no token, and its hash is that of its name.
 */
export interface TokenRecord {
  readonly id: number;
  readonly name: string;
  /** SHA-256 of the token. The store never has the token itself. */
  readonly hash: Uint8Array;
  readonly role: Role | 'subject';
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** When a newer secret of the name took its place. It stays in force until `expiresAtMs`. */
  readonly rotatedAtMs: number | undefined;
  readonly lastUsedAtMs: number | undefined;
  /** Undefined: as many creates as the service takes. */
  readonly rate: Rate | undefined;
  /** Who made and revoked it (`actorText`). Undefined for a subject, and in earlier versions. */
  readonly createdBy: string | undefined;
  readonly revokedBy: string | undefined;
}

export type NewToken = Pick<
  TokenRecord,
  'name' | 'hash' | 'role' | 'createdAtMs' | 'expiresAtMs'
> & { readonly rate?: Rate | undefined; readonly createdBy?: string | undefined };

export interface TokenRotation {
  readonly name: string;
  /** SHA-256 of the new secret. */
  readonly hash: Uint8Array;
  readonly atMs: number;
  /** Time for which the secret before stays in force; 0: it ends at once. */
  readonly graceMs: number;
  /** Life of the new secret; undefined: as long as that of the secret before. */
  readonly validMs: number | undefined;
  readonly by?: string | undefined;
}

/** With a time: the secret before the last rotation is in force until then. */
export type RefusedRotation = 'not in force' | 'too many' | { readonly inForceUntilMs: number };

export interface RotatedToken {
  readonly token: NewToken;
  /** The secret before stays in force until then; undefined: it has ended. */
  readonly previousUntilMs: number | undefined;
}

export interface Subject extends Pick<TokenRecord, 'name' | 'hash'> {
  readonly atMs: number;
}

/**
 * Beyond `subjectsMax`, the store forgets the hundredth of the subjects that was unused for
 * longest, but none that was used within `subjectIdleMs`.
 */
export type SubjectBounds = Readonly<Record<'subjectsMax' | 'subjectIdleMs', number>>;

/** Ids of copied tokens: from the id in the source to the id in the target. */
export interface CopiedTokens {
  readonly ids: ReadonlyMap<number, number>;
}

/** Two different tokens in force have this name, or this many tokens would be live. */
export type RefusedTokens = { readonly nameTaken: string } | { readonly tooMany: number };
