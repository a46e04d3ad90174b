/** Time from the start of the process until it reports that it is ready. */
import { keepRows } from '../measurement.ts';
import { type Bench, measureRounds, type PartResult, type Settings } from '../part.ts';
import { fillStore, type LoadedStore, runTarget, verifyCount, withFreshStore } from '../target.ts';
import { targets } from '../targets.ts';
import { plantsText } from '../text.ts';

export async function measureStart(settings: Settings, bench: Bench): Promise<PartResult> {
  const { plants } = settings;
  const { directory, progress } = bench;
  const { rows, add } = keepRows();
  const timeStart = async (x: string, store: LoadedStore) => {
    const startMs = await runTarget(targets.service, store, async (one) => one.startMs);
    progress(`  ${x}: ${startMs.toFixed(0)} ms`);
    add({ x, line: targets.service.label }, { startMs });
  };
  await withFreshStore(directory, 'ascending', async (filled) => {
    await fillStore(filled, plants);
    await measureRounds(settings, bench, async () => {
      await withFreshStore(directory, 'short', (store) => timeStart('no store yet', store));
      await timeStart(plantsText(plants), filled);
    });
    verifyCount(targets.service, filled);
  });
  return {
    conditions: { rounds: `${settings.rounds} starts of each kind in turn; median (min to max)` },
    columns: ['startMs'],
    rows,
    plot: { title: 'Start of the service' },
  };
}
