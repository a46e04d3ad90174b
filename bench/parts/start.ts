/** Time from the start of the process until it reports that it is ready. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, measureRounds } from '../part.ts';
import { fillStore } from '../store-feeder.ts';
import { renderFacts, renderSpreads } from '../table.ts';
import { startTarget } from '../target-process.ts';
import { verifyCount, withFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { plantsText } from '../text.ts';

interface StartSettings {
  rounds: number;
  plants: number;
}

/** The starts of one round. */
interface Starts {
  emptyMs: number;
  filledMs: number;
  /** On an empty store without compiled code, as after an installation. */
  firstMs: number;
}

interface StartPart {
  settings: StartSettings;
  starts: Starts[];
}

export function measureStart(settings: StartSettings, bench: Bench): Promise<StartPart> {
  return withFreshStore(bench.directory, 'ascending', async (filled) => {
    await fillStore(filled, settings.plants);
    const starts = await measureRounds(settings.rounds, bench, () =>
      timeStarts(filled.path, bench),
    );
    verifyCount(targets.service, filled);
    return { settings, starts };
  });
}

async function timeStarts(filledPath: string, { directory, progress }: Bench): Promise<Starts> {
  const emptyMs = await withFreshStore(directory, 'short', ({ path }) => timeStart(path));
  const filledMs = await timeStart(filledPath);
  const nothingCompiled = mkdtempSync(join(directory, 'compiled-'));
  const firstMs = await withFreshStore(directory, 'short', ({ path }) =>
    timeStart(path, { NODE_COMPILE_CACHE: nothingCompiled }),
  );
  rmSync(nothingCompiled, { recursive: true });
  progress(`  ${[emptyMs, filledMs, firstMs].map((ms) => ms.toFixed(0)).join(', ')} ms`);
  return { emptyMs, filledMs, firstMs };
}

async function timeStart(storePath: string, env?: Record<string, string>): Promise<number> {
  const running = await startTarget(targets.service, storePath, [], env);
  await running.stop();
  return running.startMs;
}

export function renderStartTables({ settings, starts }: StartPart): string[] {
  const rounds = `${settings.rounds} starts of each kind in turn; median (min to max)`;
  const table = renderSpreads(
    'start to ready',
    [
      ['no store yet', starts.map(({ emptyMs }) => emptyMs)],
      [plantsText(settings.plants), starts.map(({ filledMs }) => filledMs)],
      ['no store yet, nothing compiled', starts.map(({ firstMs }) => firstMs)],
    ],
    [['ms', 0, (ms) => ms]],
  );
  return [renderFacts({ rounds }), table];
}
