/** The figures that the service is held to, and the parts that measure them. */
import { findRow, type Measure, measures, type Place, ratiosOf, valuesOf } from './measurement.ts';
import { fullLoad } from './part.ts';
import { delayText } from './parts/load.ts';
import type { PartName } from './parts.ts';
import type { BenchResult } from './report.ts';
import { type Spread, spread } from './statistics.ts';
import { postgresTargets, type TargetName, targets } from './targets.ts';
import { connectionsText } from './text.ts';

/** Of the last row of its part at the place. */
interface Figure {
  part: PartName;
  measure: Measure;
  place: Partial<Place>;
  /** Divided by the value of this line at the same place. */
  base?: string;
  bound: '≥' | '≤';
  target: number;
  /** What the figure is about, if only `--full` measures as much. */
  inFull?: string;
}

export interface FigureResult extends Figure {
  label: string;
  /** Null when its part did not run. */
  value: Spread | null;
  verdict: string;
}

const service = targets.service.label;
const full = { memory: '10 min', growth: '20 M plants', plants: '10 M plants' };

const figures: Figure[] = [
  figure('load', 'createsPerSecond', '≥', 1, against('noop', 256)),
  figure('load', 'cpuUsPerCreate', '≤', 1.15, against('noop', 256)),
  figure('load', 'createsPerSecond', '≥', 12, against('full', 256)),
  figure('load', 'createsPerSecond', '≥', 1.8, against('normal', 256)),
  ...[0.75, 1.9, 5].map((target, index) =>
    figure('peers', 'createsPerSecond', '≥', target, against('full', 4 ** index)),
  ),
  ...[0.7, 0.65, 0.7, 0.85, 0.9].map((target, index) =>
    figure('peers', 'createsPerSecond', '≥', target, against('rust', 4 ** index)),
  ),
  ...[1.2, 1.4, 1.4, 1.2, 1.2].map((target, index) =>
    figure('peers', 'cpuUsPerCreate', '≤', target, against('rust', 4 ** index)),
  ),
  figure('load', 'p99ToP50', '≤', 3, { place: { line: service, x: fullLoad.text } }),
  figure('growth', 'ratioToEmpty', '≥', 0.95, ofLine('ascending ids', full.growth)),
  figure('growth', 'ratioToEmpty', '≥', 0.5, ofLine('random ids', full.growth)),
  figure('start', 'startMs', '≤', 200, { place: { x: 'no store yet' } }),
  figure('start', 'startMs', '≤', 200, { place: {}, inFull: full.plants }),
  figure('memory', 'rssPeakBytes', '≤', 140, { place: {}, inFull: full.memory }),
  figure('memory', 'rssSlopeBytesPerMinute', '≤', 1, { place: {}, inFull: full.memory }),
  figure('postgres', 'ratioToFastify', '≥', 5, { place: { line: postgresTargets.postgres.label } }),
  figure('backup', 'plantsPerSecond', '≥', 250_000, ofLine('import ndjson', full.plants)),
  figure('backup', 'plantsPerSecond', '≥', 80_000, ofLine('import csv', full.plants)),
  figure('backup', 'plantsPerSecond', '≥', 500_000, ofLine('export ndjson', full.plants)),
];

type Where = Pick<Figure, 'place' | 'base' | 'inFull'>;

function figure(
  part: PartName,
  measure: Measure,
  bound: Figure['bound'],
  target: number,
  where: Where,
): Figure {
  return { part, measure, bound, target, ...where };
}

/** The service's value divided by that of another target. */
function against(base: TargetName, connections: number): Where {
  const place = { panel: delayText(0), x: connectionsText(connections), line: service };
  return { place, base: targets[base].label };
}

function ofLine(line: string, inFull: string): Where {
  return { place: { line }, inFull };
}

export function answerFigures({ parts, form }: BenchResult): FigureResult[] {
  return figures.map((figure) => {
    const { part, measure, place, base, inFull } = figure;
    const value = spread(valuesAt(figure, parts));
    const { head } = measures[measure];
    const what = base === undefined ? head : `${head} ÷ ${base}`;
    const where = [place.line === service ? undefined : place.line, place.x, inFull];
    const label = [`${part}: ${what}`, ...where.filter((one) => one !== undefined)].join(', ');
    const isShort = value !== null && inFull !== undefined && form !== 'full';
    const verdict = verdictOf(value, figure) + (isShort ? ` so far: short of ${inFull}` : '');
    return { ...figure, label, value, verdict };
  });
}

function valuesAt({ part, measure, place, base }: Figure, parts: BenchResult['parts']) {
  const rows = parts[part]?.rows ?? [];
  const facts = Object.entries(place) as [keyof Place, string][];
  const row = rows.findLast((one) => facts.every(([name, value]) => one[name] === value));
  if (row === undefined) return [];
  if (base !== undefined) return ratiosOf(row, findRow(rows, { ...row, line: base }), measure);
  return valuesOf(row, measure);
}

function verdictOf(value: Spread | null, { bound, target }: Figure): string {
  if (value === null) return 'not measured';
  const isMet = bound === '≥' ? value.median >= target : value.median <= target;
  return isMet ? 'met' : 'NOT MET';
}
