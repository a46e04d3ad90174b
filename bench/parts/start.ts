/** From the spawn of the process until it says that it is ready. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../part.ts';
import { spread } from '../statistics.ts';
import { fillStore } from '../store-feeder.ts';
import { renderFacts, renderTable, spreadText } from '../table.ts';
import { startTarget } from '../target-process.ts';
import { verifyCount, withFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { plantsText } from '../text.ts';

export interface StartSettings {
  rounds: number;
  plants: number;
}

/** In milliseconds, of one round. */
interface Starts {
  emptyMs: number;
  filledMs: number;
  /** On an empty store, with nothing compiled that could be reused: as after an installation. */
  firstMs: number;
}

export interface StartPart {
  settings: StartSettings;
  starts: Starts[];
}

export function measureStart(
  settings: StartSettings,
  { directory, progress }: Bench,
): Promise<StartPart> {
  return withFreshStore(directory, 'ascending', async (filled) => {
    await fillStore(filled, settings.plants);
    const starts: Starts[] = [];
    for (let round = 1; round <= settings.rounds; round++) {
      const emptyMs = await withFreshStore(directory, 'short', ({ path }) => timeStart(path));
      const filledMs = await timeStart(filled.path);
      const firstMs = await withFreshStore(directory, 'short', ({ path }) =>
        timeFirstStart(path, directory),
      );
      starts.push({ emptyMs, filledMs, firstMs });
      progress(`  ${[emptyMs, filledMs, firstMs].map((ms) => ms.toFixed(0)).join(', ')} ms`);
    }
    verifyCount(targets.service, filled);
    return { settings, starts };
  });
}

async function timeFirstStart(storePath: string, directory: string): Promise<number> {
  const nothingCompiled = mkdtempSync(join(directory, 'compiled-'));
  const startMs = await timeStart(storePath, { NODE_COMPILE_CACHE: nothingCompiled });
  rmSync(nothingCompiled, { recursive: true });
  return startMs;
}

async function timeStart(storePath: string, env: Record<string, string> = {}): Promise<number> {
  const running = await startTarget(targets.service, storePath, env);
  await running.stop();
  return running.startMs;
}

export function renderStartTables({ settings, starts }: StartPart): string[] {
  const conditions = renderFacts([
    ['rounds', `${settings.rounds} starts of each kind in turn; median (min to max)`],
  ]);
  const row = (name: string, of: (start: Starts) => number) => [
    name,
    spreadText(spread(starts.map(of)), 0),
  ];
  const table = renderTable([
    ['start to ready', 'ms'],
    row('no store yet', (start) => start.emptyMs),
    row(plantsText(settings.plants), (start) => start.filledMs),
    row('no store yet, nothing compiled', (start) => start.firstMs),
  ]);
  return [conditions, table];
}
