/** The time of a create by thread and step, from V8's sampling profiler. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../part.ts';
import { renderFacts, renderTable } from '../table.ts';
import { runOnFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { connectionsText, durationText, fullLoadConnections, numberText } from '../text.ts';

interface ProfileSettings {
  measureMs: number;
}

interface Step {
  thread: string;
  step: string;
  usPerCreate: number;
}

interface ProfilePart {
  settings: ProfileSettings;
  steps: Step[];
}

/** The file that `--cpu-prof` writes for each thread. Times in microseconds. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

const sampleUs = 200;

/**
 * The functions that begin a step; without `functions`, all of the file. A step lasts until one of
 * its calls begins another.
 */
const stepsOfThreads: Record<string, { file: string; functions?: string[]; step: string }[]> = {
  'HTTP thread': [
    {
      file: 'http/connection.ts',
      functions: ['receive', 'read', 'readNext', 'readHead'],
      step: 'find the request (parse HTTP)',
    },
    { file: 'api/authorization.ts', step: 'authenticate' },
    {
      file: 'contract/plant.ts',
      functions: ['parseNewPlant'],
      step: 'parse and validate the plant',
    },
    { file: 'store/commit-queue.ts', functions: ['offer', 'commitNext'], step: 'hand over' },
    { file: 'store/commit-queue.ts', functions: ['finish', 'settle'], step: 'take the outcomes' },
    { file: 'store/sqlite/batch.ts', functions: ['outcomesOf'], step: 'take the outcomes' },
    { file: 'api/create-plant.ts', functions: ['settle'], step: 'answer' },
    { file: 'http/connection.ts', functions: ['send'], step: 'answer' },
  ],
  writer: [
    { file: 'store/sqlite/plant-transactions.ts', step: 'insert' },
    { file: 'store/sqlite/database.ts', step: 'commit (begin, write, sync)' },
    { file: 'store/sqlite/same-files.ts', step: 'look whether the files are the same' },
    { file: 'store/sqlite/checkpoints.ts', step: 'checkpoint' },
  ],
};
const otherSteps: Record<string, string> = {
  'HTTP thread': 'read from the socket, event loop',
  writer: 'take and return batches, event loop',
};
const entryOfThreads = new Map([
  ['http-thread.ts', 'HTTP thread'],
  ['writer-thread.ts', 'writer'],
]);

/** Of the service with one HTTP thread. */
export async function measureProfile(
  settings: ProfileSettings,
  { directory, progress }: Bench,
): Promise<ProfilePart> {
  demandSteps();
  const profiles = mkdtempSync(join(directory, 'profiles-'));
  const profiled = {
    ...targets.service,
    command: (storePath: string) => [
      ...['--cpu-prof', '--cpu-prof-dir', profiles, '--cpu-prof-interval', `${sampleUs}`],
      ...targets.threads1.command(storePath),
    ],
  };
  const load = { connections: fullLoadConnections, warmupMs: 0, ...settings };
  const { acknowledged } = await runOnFreshStore(profiled, { directory }, (running) =>
    running.load(load),
  );
  const files = readdirSync(profiles).map(
    (file) => JSON.parse(readFileSync(join(profiles, file), 'utf8')) as CpuProfile,
  );
  rmSync(profiles, { recursive: true });
  progress(`  ${numberText(acknowledged, 0)} creates`);
  return { settings, steps: files.flatMap((profile) => stepsOf(profile, acknowledged)) };
}

/** @throws Error when a renamed file or function would hide its step */
function demandSteps(): void {
  for (const { file, functions = [] } of Object.values(stepsOfThreads).flat()) {
    const source = readFileSync(join(import.meta.dirname, '../../src', file), 'utf8');
    const missing = functions.find((name) => !new RegExp(`\\b${name}\\b( = )?\\(`).test(source));
    if (missing) throw new Error(`bench/parts/profile.ts: src/${file} has no function ${missing}`);
  }
}

function stepsOf(profile: CpuProfile, creates: number): Step[] {
  const entry = profile.nodes.find(({ callFrame }) => entryOfThreads.has(fileOf(callFrame.url)));
  const thread = entryOfThreads.get(fileOf(entry?.callFrame.url ?? ''));
  if (thread === undefined) return [];
  const times = new Map<string, number>();
  const stepOfNode = nodeSteps(profile, thread);
  profile.samples.forEach((node, index) => {
    const step = stepOfNode.get(node) ?? '';
    times.set(step, (times.get(step) ?? 0) + (profile.timeDeltas[index] ?? 0));
  });
  times.delete('(idle)');
  return [...times]
    .map(([step, us]) => ({ thread, step, usPerCreate: us / creates }))
    .sort((a, b) => b.usPerCreate - a.usPerCreate);
}

function nodeSteps({ nodes }: CpuProfile, thread: string): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const steps = new Map<number, string>();
  const visit = (id: number, inherited: string) => {
    const node = byId.get(id);
    if (node === undefined) return;
    const step = ownStep(node.callFrame, thread) ?? inherited;
    steps.set(id, step);
    for (const child of node.children ?? []) visit(child, step);
  };
  visit(nodes[0]?.id ?? 0, otherSteps[thread] ?? '');
  return steps;
}

function ownStep(
  { functionName, url }: { functionName: string; url: string },
  thread: string,
): string | undefined {
  if (functionName === '(idle)') return functionName;
  if (functionName === '(garbage collector)') return 'collect garbage';
  const found = stepsOfThreads[thread]?.find(
    ({ file, functions }) =>
      url.endsWith(`/${file}`) && (functions?.includes(functionName) ?? true),
  );
  return found?.step;
}

function fileOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

export function renderProfileTables({ settings, steps }: ProfilePart): string[] {
  const load = `closed loop, ${connectionsText(fullLoadConnections)}, ${durationText(settings.measureMs)}, sampled every ${sampleUs} µs, which itself costs time`;
  const rows = steps.map(({ thread, step, usPerCreate: us }) => [thread, step, numberText(us, 2)]);
  return [
    renderFacts({
      load: load,
    }),
    renderTable([['thread', 'step', 'µs/create'], ...rows]),
  ];
}
