import {
  type CreateResult,
  createClient,
  GaveUpError,
  InvalidInputError,
  type NewPlant,
  type PlantStoreClient,
  PlantStoreError,
  RefusedError,
  type RetriedFailure,
} from '../../../clients/typescript/src/index.ts';
import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { problems, Refusal } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import { type Entry, FileError, type PlantFileReader } from '../../transfer/format.ts';
import type { RefusedRecord } from '../../transfer/import-plants.ts';
import { openSource } from '../../transfer/import-source.ts';
import type { RawRecord } from '../../transfer/record-cutter.ts';
import type { RefusedFile } from '../../transfer/refused-file.ts';
import { clientFiles, clientFlags } from '../client-certificate.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { fixedToken, tokenVariable } from '../fixed-token.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { plantsText, startProgress } from '../terminal/progress.ts';
import { answeredShare } from './answered-share.ts';
import { certifiedFetch } from './certified-fetch.ts';
import { fileFormat, openPlantReader, pipe } from './file-format.ts';
import { fileError, openRefusedLines } from './refused-lines.ts';
import { printTotals } from './totals.ts';

const flags = [
  'url',
  'token-file',
  ...clientFlags,
  'concurrency',
  'format',
  'column',
  'refused',
  'stop-at-refusal',
  'body-limit',
  'json',
] as const;

/** A plant, and its place in the file. */
interface SentPlant extends NewPlant {
  readonly record: RawRecord;
}

export const send = command({
  positionals: ['FILE'],
  summary: 'Create the plants of a file, or of standard input (-), in a service on any machine.',
  need: 'Use it where the store itself is out of reach.',
  flags,
  examples: [
    'PLANT_STORE_TOKEN=… plant-store send plants.ndjson --url https://plants.example.org',
    'plant-store send plants.csv.gz --url http://127.0.0.1:8080 --token-file token.txt',
  ],
  async run({ values, positionals: [file = ''] }, terminal) {
    const { format, compression } = fileFormat(file, values.format);
    const reader = openPlantReader(format, values, terminal);
    const service = openClient(values, terminal);
    const refused = openRefusedLines(file, { command: 'send', path: values.refused, stores: [] });
    using source = openSource(file === pipe ? terminal.input() : file, compression);
    const share = answeredShare(source);
    const tally = openTally(refused, share.answer);
    const progress = startProgress(terminal, () => performance.now());

    const finish = (until: '' | ' until then') => {
      terminal.note(`Sent ${progress.finish(tally.sent())}.`);
      printTotals(tally.totals, tally.refusedByCode, reader.leftOut(), values.json, terminal);
      const path = refused.publish();
      if (path !== undefined) terminal.note(`What was refused${until}, and why, is in ${path}.`);
    };
    const onResult = (result: CreateResult<SentPlant>) => {
      tally.count(result);
      progress.show({ plants: tally.sent(), share: share.now() });
    };
    using _ = atInterruption(terminal, (signal) => {
      finish(' until then');
      terminal.note(stoppedText(signal), 'bad');
    });
    const stopsAtRefusal = values['stop-at-refusal'];
    try {
      await service.client.createPlants(
        plantsOf(share.chunks, reader, tally.refuse, stopsAtRefusal),
        {
          ...{ concurrency: values.concurrency, onResult },
          onRefusal: stopsAtRefusal ? 'stop' : 'continue',
        },
      );
      if (tally.totals.refused === 0) refused.removeEarlier();
    } catch (error) {
      if (error instanceof FileError)
        throw fileError(file === pipe ? 'standard input' : file, error);
      if (!(error instanceof PlantStoreError)) throw error;
      if (!isAboutPlant(error))
        throw new CommandError(stoppedBy(error, service, tally.totals.stored));
    } finally {
      finish('');
    }
    return tally.totals.refused === 0 ? 0 : 1;
  },
});

/**
 * Counts what has been sent, and reports the lines that are refused.
 *
 * @param onAnswer gets each record that counts
 */
function openTally(refused: RefusedFile, onAnswer: (record: RawRecord) => void) {
  const totals = { stored: 0, refused: 0, unknown: 0 };
  const refusedByCode = new Map<number, number>();
  const refuse = (one: RefusedRecord) => {
    totals.refused += 1;
    refusedByCode.set(one.code, (refusedByCode.get(one.code) ?? 0) + 1);
    refused.add([one]);
    onAnswer(one.record);
  };
  return {
    totals,
    refusedByCode,
    refuse,
    sent: () => totals.stored + totals.refused + totals.unknown,
    count({ outcome, plant: { record }, error }: CreateResult<SentPlant>) {
      if (error && isAboutPlant(error))
        refuse({ record, code: codeOf(error), message: error.message });
      // A plant that was given up and is not stored counts as not sent.
      else if (outcome !== 'refused' || error instanceof RefusedError) {
        totals[outcome] += 1;
        onAnswer(record);
      }
    },
  };
}

const storedText = 'plants that are stored already are answered as before';
const resumeText = `send the file again to go on: ${storedText}`;

function stoppedBy(error: PlantStoreError, { url, lastFailure }: Service, stored: number): string {
  const why = withoutStop(error instanceof GaveUpError ? lastFailure() : error.message);
  if (error.status === 401 || error.status === 403)
    return `the service takes no more plants: ${why}; send the file again with a valid token: ${storedText}`;
  if (!(error instanceof GaveUpError))
    return `the service takes no more plants: ${why}; ${resumeText}`;
  const lack = error.status === undefined ? 'did not answer' : 'took no plant';
  const seconds = limits.transfer.sendWaitMs / 1_000;
  const done = `${plantsText(stored)} ${stored === 1 ? 'is' : 'are'} stored`;
  return `the service at ${url} ${lack} within ${seconds} s (${why}); ${done}; ${resumeText}`;
}

function withoutStop(message: string): string {
  return message.replace(/\.$/, '');
}

function stoppedText(signal: string): string {
  return `plant-store: ${signal} has stopped the command before the end of the file; ${resumeText}`;
}

interface Service {
  readonly client: PlantStoreClient;
  /** As typed. */
  readonly url: string;
  /** Why a plant was tried again the last time. */
  readonly lastFailure: () => string;
}

/** @throws UsageError, CommandError */
function openClient(values: Values<(typeof flags)[number]>, { env, note }: Terminal): Service {
  const { url, 'token-file': tokenFile } = values;
  if (url === undefined) throw new UsageError('send needs --url URL');
  const token = fixedToken(tokenFile, env, limits.jwt.tokenCharsMax);
  if (token === undefined)
    throw new UsageError(`send needs a token, in ${tokenVariable} or in a file by --token-file`);
  /** Statuses that were told. */
  const told = new Set<number | undefined>();
  let last = 'no reply';
  const onRetry = ({ status, message }: RetriedFailure) => {
    last = message;
    if (told.has(status)) return;
    told.add(status);
    note(`A plant was not taken (${withoutStop(message)}); retrying.`);
  };
  try {
    const fetch = certifiedFetch(url, clientFiles(values));
    const timeout = limits.transfer.sendWaitMs;
    const client = createClient({ url, token, onRetry, fetch, timeout });
    return { client, url, lastFailure: () => last };
  } catch (error) {
    throw error instanceof InvalidInputError ? new UsageError(`--${error.message}`) : error;
  }
}

/** @param refuse called for each record that is not a plant; the first one may be the end */
async function* plantsOf(
  chunks: AsyncIterable<Buffer>,
  reader: PlantFileReader,
  refuse: (refused: RefusedRecord) => void,
  stopsAtRefusal: boolean,
): AsyncGenerator<SentPlant> {
  async function* entries(): AsyncGenerator<Entry> {
    for await (const chunk of chunks) yield* reader.read(chunk);
    yield* reader.end();
  }
  for await (const { record, plant } of entries()) {
    if (!(plant instanceof Refusal)) yield { ...plant, record };
    else {
      refuse({ record, code: problems[plant.problem].code, message: plant.message });
      if (stopsAtRefusal) return;
    }
  }
}

/** Whether the line is at fault, and not the token, the service or the network. */
function isAboutPlant({ status, code }: PlantStoreError): boolean {
  return status === 413 || (status === 400 && code !== undefined);
}

/** A proxy may refuse a plant without a code. */
function codeOf({ code, status = 0 }: PlantStoreError): number {
  return code ?? status;
}
