/** One row of the error catalogue. */
export interface Problem {
  /** The `error` member of the reply; an int32. Numbers are never reused and never renumbered. */
  readonly code: number;
  readonly status: number;
  readonly when: string;
  readonly remedy: string;
  /** Header fields of the reply. After `Connection: close`, the connection is closed. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ClientProblem extends Problem {
  /** The message of a refusal that has no other. A test compares it with a reply. */
  readonly example: string;
}

type Row = Omit<ClientProblem, 'status' | 'headers'> & Partial<ClientProblem>;

/** The first three digits of a code are the status. */
export function withStatus<R extends Omit<Row, 'example'>, N extends string>(
  rows: Readonly<Record<N, R>>,
): Readonly<Record<N, R & Problem>> {
  const complete = Object.entries<R>(rows).map(([name, row]) => [
    name,
    { status: Math.floor(row.code / 100), headers: {}, ...row },
  ]);
  return Object.fromEntries(complete);
}

const retrySoon = { 'Retry-After': '1' };
const closing = { Connection: 'close' };

/** RFC 6750 §3: a challenge has at least one parameter. */
const realm = 'Bearer realm="plant-store"';

/** Every error of the public listener. Source of the description and of docs/use/errors.md. */
export const problems = withStatus({
  bodyMalformed: {
    code: 40000,
    when:
      'The body is not JSON: its syntax or UTF-8 is broken, it is nested too deep, or a ' +
      'top-level member is given twice.',
    remedy: 'Send one JSON object, encoded as UTF-8 without a byte order mark.',
    example: 'The body is not JSON: it is empty.',
  },
  notNewPlant: {
    code: 40001,
    when: 'The JSON is not a NewPlant: not an object, or a member is missing or of the wrong type.',
    remedy: 'Send `id` (integer) and `name` (string), and `tag` (string) or no `tag` at all.',
    example: '`name` must be a string; it is missing.',
  },
  idNotInt64: {
    code: 40002,
    when: '`id` is not an int64: it has a fraction or is out of range.',
    remedy: 'Choose an integer from -9223372036854775808 to 9223372036854775807.',
    example: '`id` must be an integer from -9223372036854775808 to 9223372036854775807.',
  },
  textNotStorable: {
    code: 40003,
    when: '`name` or `tag` holds text that cannot be stored exactly: U+0000 or a lone surrogate.',
    remedy: 'Remove that character.',
    example: '`name` holds U+0000 or a lone surrogate, which cannot be stored exactly.',
  },
  idTaken: {
    code: 40004,
    when: '`id` belongs to a different plant.',
    remedy: 'Choose another `id`. To retry a create, send the same `name` and `tag` again.',
    example: 'The id 7 belongs to a plant with another name or tag.',
  },
  plantRefused: {
    code: 40007,
    when:
      'The store does not take this plant: its operator has set a constraint, such as a longest ' +
      '`name`. The `id` is not stored.',
    remedy: 'Change the plant; the operator of the service knows the constraint.',
    example:
      'This store does not take this plant: a constraint that its operator has set refuses the ' +
      'plant. Nothing was stored.',
  },
  authorizationMalformed: {
    code: 40005,
    when:
      'The Authorization header is malformed (RFC 6750 §3.1, invalid_request), or there is ' +
      'more than one.',
    remedy: 'Send one header of the form `Authorization: Bearer TOKEN`.',
    headers: { 'WWW-Authenticate': `${realm}, error="invalid_request"` },
    example: 'The Authorization header is malformed: it does not start with a scheme and a space.',
  },
  httpMalformed: {
    code: 40006,
    when: 'The request is not well-formed HTTP.',
    remedy: 'Send HTTP/1.1 as RFC 9112 describes it.',
    headers: closing,
    example: 'The request is not well-formed HTTP: the first line is not a request line.',
  },
  tokenMissing: {
    code: 40100,
    when: 'There is no bearer token.',
    remedy: 'Send the header `Authorization: Bearer TOKEN`.',
    headers: { 'WWW-Authenticate': realm },
    example: 'There is no bearer token. Send the header `Authorization: Bearer TOKEN`.',
  },
  tokenInvalid: {
    code: 40101,
    when: 'The token is not valid: unknown, revoked, expired, or a JWT that breaks a rule.',
    remedy: 'Get a new token from the operator or the identity provider.',
    headers: { 'WWW-Authenticate': `${realm}, error="invalid_token"` },
    example: 'The token is refused: it is unknown, revoked or expired. Use another token.',
  },
  scopeInsufficient: {
    code: 40300,
    when: 'The token may not create plants.',
    remedy: 'Use a token with the role `create`, or a JWT with the scope that the message names.',
    headers: { 'WWW-Authenticate': `${realm}, error="insufficient_scope"` },
    example:
      'A token with the role `operate` may not create plants; use one with the role `create`.',
  },
  pathUnknown: {
    code: 40400,
    when: 'There is nothing at this path.',
    remedy: 'Check the address, and the base path that the operator has set.',
    example:
      'There is nothing at this path. Plants are created at /plants, below the base path ' +
      'of the service; /docs tells how.',
  },
  methodNotAllowed: {
    code: 40500,
    when: 'The path does not take this method.',
    remedy: 'Use a method that the `Allow` header names.',
    example: 'The method "GET" is not allowed here; use POST.',
  },
  requestTimeout: {
    code: 40800,
    when: 'The request took too long to arrive.',
    remedy: 'Send the request again, and faster.',
    headers: closing,
    example: 'The request took too long to arrive. Nothing was stored; send it again.',
  },
  bodyTooLarge: {
    code: 41300,
    when: 'The body is over the limit.',
    remedy: 'Send a smaller plant.',
    headers: closing,
    example: 'The body is over the limit of 1,048,576 bytes.',
  },
  mediaTypeUnsupported: {
    code: 41500,
    when: 'The body is not `application/json` in UTF-8, or it has a Content-Encoding.',
    remedy: 'Send `Content-Type: application/json` and no `Content-Encoding`.',
    example:
      'The body must have the header `Content-Type: application/json`, and be encoded as UTF-8.',
  },
  expectationFailed: {
    code: 41700,
    when: 'The request has an `Expect` other than `100-continue`.',
    remedy: 'Leave the `Expect` header out.',
    headers: closing,
    example: 'The only supported expectation is 100-continue.',
  },
  rateLimited: {
    code: 42900,
    when: 'The token has sent more creates than its rate allows. The plant was not stored.',
    remedy: 'Retry after the time in `Retry-After`, and send fewer creates.',
    example:
      'The token may send creates at 1/s, and 1 at once. This plant was not stored; retry in 1 s.',
  },
  headersTooLarge: {
    code: 43100,
    when: 'The header fields are too large.',
    remedy: 'Send fewer or shorter header fields.',
    headers: closing,
    example: 'The header fields are too large. Send fewer or shorter fields.',
  },
  defect: {
    code: 50000,
    when:
      'A defect of the service. The log has the defect under the id of the `X-Request-Id` ' +
      'header.',
    remedy: 'Retry with the same `id`, and give the request id to the operator.',
    example:
      'The service has a defect, and whether the plant was stored is not known. Retry ' +
      'with the same id; the request id is 5f0c9d2e41b7-3k.',
  },
  overloaded: {
    code: 50300,
    when:
      'Too many plants wait to be stored, or requests that arrive take all the memory for them. ' +
      'The token, or the network of clients without a token, that holds the most is refused first. ' +
      'The plant was not stored.',
    remedy: 'Retry after the time in `Retry-After`.',
    headers: retrySoon,
    example: 'Too many plants are waiting to be stored. This one was not stored; retry later.',
  },
  storeUnavailable: {
    code: 50301,
    when:
      'The store cannot take writes now (its disk is full, or the store is locked, ' +
      'read-only or away), or the token cannot be checked now.',
    remedy: 'Retry with the same `id` after the time in `Retry-After`.',
    headers: retrySoon,
    example:
      'The store cannot take writes now. Retry with the same id: that is safe, also if ' +
      'this plant was stored.',
  },
  shuttingDown: {
    code: 50302,
    when: 'The service is shutting down. The plant was not stored.',
    remedy: 'Retry after the time in `Retry-After`.',
    headers: { ...retrySoon, ...closing },
    example: 'The service is shutting down. Nothing was stored; retry later.',
  },
  versionUnsupported: {
    code: 50500,
    when: 'The HTTP version is neither 1.0 nor 1.1.',
    remedy: 'Use HTTP/1.1.',
    headers: closing,
    example: 'The supported versions are HTTP/1.1 and HTTP/1.0.',
  },
} as const satisfies Record<string, Row>);

export type ProblemName = keyof typeof problems;

export const problemNames = Object.keys(problems) as ProblemName[];

/** RFC 9110 §15. Loading the phrases of `node:http` would take a tenth of the start. */
export const reasonPhrases: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
  302: 'Found',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

/** A refused request. The message says what is wrong, where, and what to do. */
export class Refusal {
  readonly problem: ProblemName;
  readonly message: string;
  /** Header fields besides those of the catalogue, or in their place. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Why, for the log of the operators. It is not sent. */
  readonly cause: string | undefined;

  constructor(
    problem: ProblemName,
    message: string = problems[problem].example,
    headers?: Readonly<Record<string, string>>,
    cause?: string,
  ) {
    this.problem = problem;
    this.message = message;
    this.headers = headers;
    this.cause = cause;
  }
}

/** @param requestId names the defect in the log: its text may quote what a client has sent */
export function defectRefusal(requestId: string): Refusal {
  return new Refusal(
    'defect',
    'The service has a defect, and whether the plant was stored is not known. ' +
      `Retry with the same id; the request id is ${requestId}.`,
    undefined,
    'a defect of the service; the log has the defect under the request id',
  );
}

/** The body of every error reply (specification, "Error"). */
export function errorText({ code }: Problem, message: string): string {
  return JSON.stringify({ error: code, message });
}
