import { problems, withStatus } from './problems.ts';

/**
 * Every error of the operators' listener. A code that is also in the public catalogue has the same
 * meaning, status and header fields there; only the words may differ. Numbers are never used again;
 * retired are 40452, 40455, 42951 and 42955.
 */
export const operatorProblems = withStatus({
  bodyMalformed: {
    ...problems.bodyMalformed,
    remedy: 'Send one JSON object, encoded as UTF-8.',
  },
  httpMalformed: problems.httpMalformed,
  bodyWrong: {
    code: 40050,
    when: 'The JSON is not what this path takes: a member is missing or wrong.',
    remedy: 'Send what the message asks for.',
  },
  queryWrong: {
    code: 40051,
    when: 'A parameter of the query is wrong.',
    remedy: 'Send what the message asks for.',
  },
  notSignedIn: {
    code: 40150,
    when: 'There is no session, or it has ended, or its token was revoked.',
    remedy: 'Sign in.',
    headers: { 'WWW-Authenticate': 'Session' },
  },
  signInRefused: {
    code: 40151,
    when: 'The token of the sign-in is unknown, revoked or expired.',
    remedy: 'Make one with `plant-store token create NAME --role operate`.',
    headers: { 'WWW-Authenticate': 'Session' },
  },
  linkRefused: {
    code: 40152,
    when: 'The sign-in link was used already, or is older than a minute.',
    remedy: 'Make another one with `plant-store open`.',
    headers: { 'WWW-Authenticate': 'Session' },
  },
  otherSite: {
    code: 40301,
    when: 'A page of another site sent a request that changes something.',
    remedy: 'Use the console at its own address. A proxy must pass on the `Host` header.',
  },
  notOperator: {
    code: 40350,
    when: 'The token of the sign-in may only create plants.',
    remedy: 'Make one with `plant-store token create NAME --role operate`.',
  },
  pathUnknown: { ...problems.pathUnknown, remedy: 'Check the address.' },
  tokenUnknown: {
    code: 40450,
    when: 'There is no token with this name that is not revoked.',
    remedy: 'Check the name.',
  },
  methodNotAllowed: problems.methodNotAllowed,
  requestTimeout: problems.requestTimeout,
  tokenNameTaken: {
    code: 40900,
    when: 'There is a token with this name already.',
    remedy: 'Choose another name, or revoke that token first.',
  },
  tokensTooMany: {
    code: 40901,
    when: 'The store has as many valid tokens as it may have.',
    remedy: 'Revoke a token that is no longer needed.',
  },
  tokenInRotation: {
    code: 40950,
    when: 'The token has two secrets in force: the grace of its last rotation is not over.',
    remedy: 'Rotate again after the time in the message, or with a grace of 0.',
  },
  backupUnderWay: {
    code: 40955,
    when: 'A backup runs already.',
    remedy: 'Wait for its end.',
  },
  backupsOff: {
    code: 40956,
    when: 'The service was started without `--backup-to`, and knows no folder for backups.',
    remedy: 'Start the service with `--backup-to FOLDER`.',
  },
  bodyTooLarge: { ...problems.bodyTooLarge, remedy: 'Send a smaller body.' },
  mediaTypeUnsupported: problems.mediaTypeUnsupported,
  expectationFailed: problems.expectationFailed,
  hostUnknown: {
    code: 42100,
    when: 'The request is for a host name that the listener does not know.',
    remedy: 'Use `localhost` or an address, or start the service with `--ops-names NAME`.',
  },
  signInsTooMany: {
    code: 42950,
    when: 'There were too many wrong tokens or links. A valid one still signs in.',
    remedy: 'Retry after the time in `Retry-After`.',
  },
  headersTooLarge: problems.headersTooLarge,
  defect: {
    ...problems.defect,
    remedy: 'Read the log of the service, which says more under the request id.',
  },
  storeUnavailable: {
    ...problems.storeUnavailable,
    when: 'The store cannot do this now: the store is locked or away, or too many searches wait.',
    remedy: 'Retry after the time in `Retry-After`.',
  },
  shuttingDown: { ...problems.shuttingDown, when: 'The service is shutting down.' },
  versionUnsupported: problems.versionUnsupported,
});

export type OperatorProblemName = keyof typeof operatorProblems;
