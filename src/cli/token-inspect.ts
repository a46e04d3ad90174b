import { askIssuer, IssuerError } from '../access/jwt/issuer.ts';
import {
  type Check,
  checkJwt,
  hasScope,
  isJwt,
  JwtFault,
  type JwtRules,
  readJwt,
} from '../access/jwt/rules.ts';
import { signatureCheck } from '../access/jwt/signature.ts';
import { hashToken, isInForce, tokenState } from '../access/opaque-tokens.ts';
import { rateText } from '../access/rate-limit.ts';
import { distanceText } from '../age-text.ts';
import { UsageError } from '../config/values.ts';
import { excerpt } from '../contract/excerpt.ts';
import { limits } from '../limits.ts';
import type { StoreLocation } from '../store/location.ts';
import type { TokenRecord } from '../store/tokens.ts';
import { openReader } from '../stores.ts';
import type { Input } from '../transfer/import-source.ts';
import { CommandError, command, type Terminal } from './command.ts';
import { jwtFlags, jwtRules } from './jwt-rules.ts';

interface Finding extends Check {
  /** The check could not be made. */
  readonly isOpen?: boolean;
  /** What people see in the place of `found`. */
  readonly text?: string;
}

export const tokenInspect = command({
  positionals: ['[-]'],
  summary:
    'Tell whether the token on standard input is accepted, and if not, why. At a terminal, the command asks for the token.',
  need: 'Use it when a client gets 401 or 403. The token is never printed.',
  flags: ['store', ...jwtFlags, 'offline', 'json'],
  examples: [
    'plant-store token inspect',
    'plant-store token inspect --jwt-issuer https://login.example.org --jwt-audience plants',
  ],
  async run({ values, positionals: [source = pipe] }, terminal) {
    if (source !== pipe) throw new UsageError(notAnArgument);
    const rules = jwtRules(values);
    const token = await tokenFrom(terminal);
    const findings =
      isJwt(token) && rules !== undefined
        ? await inspectJwt(token, rules, values.offline)
        : await inspectOpaque(token, values.store);
    if (isJwt(token) && rules === undefined)
      terminal.note('This looks like a JWT: give --jwt-issuer and --jwt-audience to check it.');
    if (!values.json) terminal.note(verdictOn(findings));
    for (const finding of findings) printFinding(finding, values.json, terminal);
    return findings.some(({ fault }) => fault !== undefined) ? 1 : 0;
  },
});

/** The answer in one sentence, before the checks that it comes from. */
function verdictOn(findings: readonly Finding[]): string {
  const name = findings.find((one) => one.name === 'name')?.found;
  const whose = typeof name === 'string' ? ` It is a secret of ${name}.` : '';
  const refused = findings.find(({ fault }) => fault !== undefined);
  if (refused) return `Creates with this token are refused: ${refused.fault}.${whose}`;
  if (findings.some(({ isOpen }) => isOpen)) return 'No check has refused this token.';
  return `The token is accepted.${whose}`;
}

const pipe = '-';

const notAnArgument =
  'token inspect reads the token from standard input; the arguments of a command are visible to other users';

/** @throws UsageError, CommandError */
async function tokenFrom(terminal: Terminal): Promise<string> {
  const typed = terminal.askSecret('Paste the token, and press Enter. It is not shown.');
  const token = (typed ? await typed : await textFrom(terminal.input()))
    .trim()
    .replace(/^bearer +/i, '');
  if (token.length > limits.jwt.tokenCharsMax) throw new CommandError(tooLong);
  if (/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) return token;
  throw new UsageError(
    typed
      ? 'a token has no spaces, and is not empty'
      : 'standard input must hold one token, without spaces',
  );
}

const tooLong = `a token has at most ${limits.jwt.tokenCharsMax} characters`;

async function textFrom(input: Input): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(chunk as Buffer);
    bytes += chunk.length;
    if (bytes > 2 * limits.jwt.tokenCharsMax) throw new CommandError(tooLong);
  }
  return Buffer.concat(chunks).toString();
}

async function inspectJwt(
  token: string,
  rules: JwtRules,
  isOffline: boolean,
): Promise<readonly Finding[]> {
  const jwt = readJwt(token);
  if (jwt instanceof JwtFault) return [{ name: 'form', found: 'JWT', fault: jwt.reason }];
  const { scope = jwt.claims['scp'] } = jwt.claims;
  const lacksScope = rules.scope !== undefined && !hasScope(jwt, rules.scope);
  return [
    { name: 'form', found: 'JWT', fault: undefined },
    ...checkJwt(jwt, rules, Date.now()),
    await checkSignature(token, String(jwt.claims['iss']), jwt.header['kid'], rules, isOffline),
    {
      name: 'scope',
      found: scope,
      fault: lacksScope ? `it lacks the scope ${rules.scope}` : undefined,
    },
  ];
}

async function checkSignature(
  token: string,
  issuer: string,
  kid: unknown,
  rules: JwtRules,
  isOffline: boolean,
): Promise<Finding> {
  const finding = { name: 'signature', found: kid === undefined ? undefined : `key ${kid}` };
  if (isOffline) return { ...finding, fault: undefined, isOpen: true };
  if (!rules.issuers.includes(issuer))
    return { ...finding, fault: 'its issuer is not asked for keys' };
  try {
    const { keys } = await askIssuer(issuer);
    const result = await signatureCheck(keys)(token);
    if (result === 'good') return { ...finding, fault: undefined };
    const fault = result === 'unknown key' ? 'its issuer has no such key' : result.reason;
    return { ...finding, fault };
  } catch (error) {
    if (error instanceof IssuerError) return { ...finding, fault: error.message };
    throw error;
  }
}

async function inspectOpaque(token: string, location: StoreLocation): Promise<readonly Finding[]> {
  await using store = await openReader(location, limits.cli.readMs);
  const form = { name: 'form', found: 'opaque', fault: undefined };
  const found = await store.findToken(hashToken(token));
  if (found === undefined)
    return [form, { name: 'name', found: undefined, fault: `${store.location} does not know it` }];
  const nowMs = Date.now();
  const state = tokenState(found, nowMs);
  const mayCreate = found.role === 'create';
  return [
    form,
    { name: 'name', found: found.name, fault: undefined },
    { name: 'state', found: state, fault: isInForce(found, nowMs) ? undefined : `it is ${state}` },
    {
      name: 'role',
      found: found.role,
      fault: mayCreate ? undefined : 'it may operate the service, and not create plants',
    },
    ...factsOf(found, nowMs),
  ];
}

/** A service writes the uses once in `limits.access.useFlushMs`. */
function unusedText(token: TokenRecord, nowMs: number): string {
  return isInForce(token, nowMs)
    ? 'never, or only in the last minute'
    : 'never while it was valid; "plant-store status --tokens" counts its refusals';
}

/** What `token list` shows of the token, too. */
function factsOf(token: TokenRecord, nowMs: number): readonly Finding[] {
  const { rate, createdBy, revokedBy } = token;
  const time = (name: string, ms: number | undefined, by?: string): Finding => {
    const found = ms === undefined ? undefined : new Date(ms).toISOString();
    const age = found === undefined ? 'never' : `${found}, ${distanceText(found, nowMs)}`;
    return { name, found, text: by === undefined ? age : `${age}, by ${by}`, fault: undefined };
  };
  const most = rate === undefined ? undefined : rateText(rate);
  const burst = rate === undefined ? 'any' : `${most}, and ${rate.burst} at once`;
  return [
    time('ends', token.revokedAtMs ?? token.expiresAtMs, revokedBy),
    token.lastUsedAtMs === undefined
      ? { name: 'last used', found: undefined, text: unusedText(token, nowMs), fault: undefined }
      : time('last used', token.lastUsedAtMs),
    { name: 'rate', found: most, text: burst, fault: undefined },
    time('created', token.createdAtMs),
    { name: 'by', found: createdBy, text: createdBy ?? 'not known', fault: undefined },
  ];
}

function printFinding(
  { name, found, fault, isOpen = false, text: words }: Finding,
  isJson: boolean,
  { print }: Terminal,
): void {
  const level = fault !== undefined ? 'refused' : isOpen ? 'open' : 'ok';
  if (isJson) {
    print(JSON.stringify({ check: name, level, found, says: fault }));
    return;
  }
  const shown = words ?? (found === undefined ? 'none' : shownValue(name, found));
  const says = [shown, fault ?? (isOpen ? 'not checked: --offline' : undefined)];
  const text = `${level.padEnd('refused'.length)}  ${name.padEnd('signature'.length)}  `;
  print(
    text + says.filter((one) => one !== undefined).join('; '),
    fault === undefined ? undefined : 'bad',
  );
}

function shownValue(name: string, found: unknown): string {
  const isTime = ['exp', 'nbf', 'iat'].includes(name) && typeof found === 'number';
  const ms = Number(found) * 1_000;
  if (isTime && Math.abs(ms) < 8.64e15) return new Date(ms).toISOString();
  return excerpt(typeof found === 'string' ? found : (JSON.stringify(found) ?? ''));
}
