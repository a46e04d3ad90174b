// Generated from src/contract/problems.ts by "npm run docs".

/** `error` of an error reply: docs/use/errors.md has the meaning of each code. */
export type ErrorCode =
  | 40000
  | 40001
  | 40002
  | 40003
  | 40004
  | 40007
  | 40005
  | 40006
  | 40100
  | 40101
  | 40300
  | 40400
  | 40500
  | 40800
  | 41300
  | 41500
  | 41700
  | 42900
  | 43100
  | 50000
  | 50300
  | 50301
  | 50302
  | 50500;
