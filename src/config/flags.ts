import { limits } from '../limits.ts';
import { locationText } from '../store/location.ts';
import { roles } from '../store/store.ts';
import type { Environment } from './environment.ts';
import { storeLocation } from './store-location.ts';
import {
  autoOr,
  basePath,
  duration,
  hostNames,
  inSeconds,
  int64,
  integer,
  offOr,
  oneOf,
  onOff,
  text,
} from './values.ts';

/** A flag, and the environment variable of the same name. */
export interface Flag<T, D extends string | undefined = string | undefined> {
  /** What stands for the value in the help; empty for a switch, which is on when it is there. */
  readonly placeholder: string;
  readonly help: string;
  /** @throws UsageError with the rest of a sentence that starts with the flag's name */
  readonly parse: (text: string, env: Environment) => T;
  /** What is shown instead of what was typed, which may hold a password. */
  show?(value: T): string;
  /** All values that it takes, where they are words. */
  readonly choices?: readonly string[];
  /** As it would be typed. Without one, the flag has no value when it is left out. */
  readonly default: D;
}

const connectionLimitHelp = `open connections, or auto: as many as ulimit -n allows, up to ${limits.service.connectionsMax}; more are closed at once`;

/** Every flag of every command. */
export const flags = {
  host: withDefault('ADDRESS', 'address to listen on', text, '127.0.0.1'),
  port: withDefault(
    'PORT',
    'port to listen on; 0 takes any that is free',
    integer(0, 65_535),
    '8080',
  ),
  'http-threads': withDefault(
    'N',
    'threads that answer requests, or auto: one less than the cores, from 1 to 4',
    autoOr(integer(1, 64)),
    'auto',
  ),
  'reuse-port': withDefault(
    '',
    'listen also where another service does that shares the port, to take over from it',
    onOff,
    'false',
  ),
  store: {
    ...withDefault(
      'STORE',
      'the store, as sqlite:PATH, or postgres://…',
      storeLocation,
      'sqlite:data/plants.db',
    ),
    show: locationText,
  },
  'accept-lost-commits': withDefault(
    '',
    'use a database also where a crash takes plants that were answered with 200 (fsync or synchronous_commit off)',
    onOff,
    'false',
  ),
  from: {
    ...optional('STORE', 'the store to copy, as --store names one', storeLocation),
    show: locationText,
  },
  to: {
    ...optional('STORE', 'the store to copy it into; one that is not there is made', storeLocation),
    show: locationText,
  },
  'ops-host': withDefault(
    'ADDRESS',
    'address to listen on for operators; others than loopback let other machines in',
    text,
    '127.0.0.1',
  ),
  'ops-port': withDefault(
    'PORT',
    'port for operators: health, metrics, console; or off',
    offOr(integer(0, 65_535)),
    '8081',
  ),
  'ops-names': optional(
    'NAMES',
    'host names that operators may use besides localhost, such as ops.example.org,ops',
    hostNames,
  ),
  'base-path': withDefault('PATH', 'path that comes before /plants', basePath, '/'),
  'token-file': optional('FILE', 'file with a fixed token that may create plants', text),
  'body-limit': withDefault(
    'BYTES',
    'largest request body, or plant in a file',
    integer(1_024, limits.store.queueBytesMax),
    `${limits.http.bodyBytesMax}`,
  ),
  'connection-limit': withDefault('N', connectionLimitHelp, autoOr(integer(1, 1_000_000)), 'auto'),
  'queue-limit': withDefault(
    'N',
    'plants that may wait to be stored; more get 503',
    integer(1, 1_000_000),
    `${limits.store.queuePlantsMax}`,
  ),
  'request-timeout': withDefault(
    'TIME',
    'for a request to arrive',
    duration,
    inSeconds(limits.http.requestMs),
  ),
  'commit-timeout': withDefault(
    'TIME',
    'for a plant to be stored',
    duration,
    inSeconds(limits.store.commitMs),
  ),
  'drain-timeout': withDefault(
    'TIME',
    'for requests under way when the service stops',
    duration,
    inSeconds(limits.service.drainMs),
  ),
  'log-level': choice(['debug', 'info', 'warn', 'error'], 'least level to log', 'info'),
  'log-format': choice(
    ['auto', 'json', 'text'],
    'auto is text on a terminal, and json elsewhere',
    'auto',
  ),
  role: choice(roles, 'what it may do: create plants, or operate the service', 'create'),
  expires: optional('TIME', 'how long it is valid, as 90d; without it, until revoked', duration),
  tag: optional('TAG', 'only plants with exactly this tag', text),
  'name-contains': optional('TEXT', 'only plants with exactly this text in the name', text),
  'created-by': optional(
    'TOKEN',
    'only plants that came with the token of this name, with the fixed token (environment) or by import',
    text,
  ),
  since: optional('TIME', 'only plants that came in the last 1h, 7d or other time', duration),
  after: optional('ID', 'only plants with a greater id', int64),
  limit: withDefault(
    'N',
    'at most so many',
    integer(1, 1_000_000_000),
    `${limits.cli.listPlantsDefault}`,
  ),
  overwrite: withDefault(
    '',
    'replace a file, or a store that holds plants, which is kept under another name',
    onOff,
    'false',
  ),
  format: optionalChoice(['ndjson', 'csv'], 'what is in the file, where its name does not say so'),
  refused: optional('FILE', 'file for what was refused, instead of FILE.refused.ndjson', text),
  'stop-at-refusal': withDefault('', 'end at the first plant that is refused', onOff, 'false'),
  seconds: withDefault(
    'N',
    'how long to load and kill',
    integer(1, 604_800),
    `${limits.prove.seconds}`,
  ),
  json: withDefault('', 'print lines of JSON, an object each', onOff, 'false'),
  details: withDefault('', 'also when each plant came, and by which token', onOff, 'false'),
};

export type FlagName = keyof typeof flags;

export type Values<F extends FlagName> = {
  readonly [N in F]: (typeof flags)[N] extends Flag<infer T, infer D>
    ? D extends string
      ? T
      : T | undefined
    : never;
};

function withDefault<T>(
  placeholder: string,
  help: string,
  parse: Flag<T>['parse'],
  value: string,
): Flag<T, string> {
  return { placeholder, help, parse, default: value };
}

function choice<T extends string>(choices: readonly T[], help: string, value: T): Flag<T, string> {
  return { ...withDefault(choices.join('|'), help, oneOf(choices), value), choices };
}

function optionalChoice<T extends string>(choices: readonly T[], help: string): Flag<T, undefined> {
  return { ...optional(choices.join('|'), help, oneOf(choices)), choices };
}

function optional<T>(
  placeholder: string,
  help: string,
  parse: Flag<T>['parse'],
): Flag<T, undefined> {
  return { placeholder, help, parse, default: undefined };
}
