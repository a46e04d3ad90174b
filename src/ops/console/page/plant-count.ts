import { useEffect, useRef, useState } from 'preact/hooks';
import { addCreators, type CreatorCounts, mostFirst } from '../../../store/creators.ts';
import { otherTokens } from '../../../store/tokens.ts';
import type { PlantId } from '../../contract.ts';
import type { Api } from './api.ts';
import { ExactText, Failure } from './components.ts';
import { count, plantsText } from './format.ts';
import { html } from './html.ts';
import { type PlantView, pathOf, queryOf } from './plant-view.ts';

interface Counted {
  readonly plants: number;
  /** The id after which the count goes on; null at the end. */
  readonly next: PlantId | null;
  readonly byCreator: CreatorCounts;
}

interface Props {
  readonly api: Api;
  readonly view: PlantView;
  /** Called with undefined while the number of plants is not known. */
  readonly onTotal: (plants: number | undefined) => void;
  /** Stands beside the total. */
  readonly children: unknown;
}

/** Counts the plants of a view when asked to, as this reads the whole store. */
export function PlantCount({ api, view, onTotal, children }: Props) {
  const [counted, setCounted] = useState<Counted | undefined>();
  const [isCounting, setCounting] = useState(false);
  const [error, setError] = useState<Error | undefined>();
  const underWay = useRef(new AbortController());
  useEffect(() => () => underWay.current.abort(), []);
  useEffect(() => onTotal(counted?.next === null ? counted.plants : undefined), [counted]);

  async function run(from?: Counted): Promise<void> {
    const { signal } = (underWay.current = new AbortController());
    setCounting(true);
    setCounted(from);
    setError(undefined);
    try {
      for await (const now of countOn(api, view, from, signal)) setCounted(now);
    } catch (thrown) {
      if (!signal.aborted) setError(thrown as Error);
    }
    setCounting(false);
  }

  const isPartial = counted !== undefined && counted.next !== null;
  const press = () =>
    isCounting ? underWay.current.abort() : run(isPartial ? counted : undefined);
  const first = view.createdBy === '' ? 'Count by creator' : 'Count';
  const start = counted === undefined ? first : 'Count again';
  // The button with several texts keeps the focus.
  return html`
    <div class="all-matches">All that match:
      <span role="status">${counted && !isCounting && standing(counted)}</span>
      ${isCounting && html`<span class="progress">Counting${counted && `: ${standing(counted)}`}…</span>`}
      <button type="button" class="small" onClick=${press}>${isCounting ? 'Stop' : isPartial ? 'Go on' : start}</button>
      ${isPartial && !isCounting && html`<button type="button" class="small" onClick=${() => run()}>Count again</button>`}
      ${children}
      <${Failure} error=${error} />
    </div>
    ${view.createdBy === '' && html`<div class="creators">${counted && !isCounting && html`<${Creators} counts=${counted.byCreator} view=${view} />`}</div>`}`;
}

const namedMax = 10;

/** Who has created the plants that were counted, if there are several. Each leads to its plants. */
function Creators({ counts, view }: { counts: CreatorCounts; view: PlantView }) {
  if (counts.size < 2) return null;
  const creators = mostFirst(counts);
  const [named, others] = [creators.slice(0, namedMax), creators.slice(namedMax)];
  const othersText = counts.has(otherTokens) ? 'others' : `${others.length} more`;
  const ofOthers = others.reduce((sum, [, plants]) => sum + plants, 0);
  return html`
    <ul aria-label="Plants by creator">
      ${named.map(
        ([name, plants]) => html`
          <li><a href="#${pathOf({ ...view, createdBy: name, at: '' })}"><${ExactText} text=${name} isExcerpt /></a> ${count(plants)}</li>`,
      )}
      ${others.length > 0 && html`<li>and ${othersText}: ${count(ofOthers)}</li>`}
    </ul>`;
}

/** Yields the count so far, after each answer. */
export async function* countOn(
  api: Api,
  view: PlantView,
  from: Counted = { plants: 0, next: '', byCreator: new Map() },
  signal: AbortSignal,
): AsyncGenerator<Counted> {
  for (let now = from; now.next !== null; ) {
    const query = queryOf({ ...view, order: 'id', at: now.next });
    // One creator is known, and its plants are counted faster without.
    if (view.createdBy === '') query.set('byCreator', 'true');
    const part = await api.plantCount(query, signal);
    signal.throwIfAborted();
    const byCreator = new Map(now.byCreator);
    addCreators(byCreator, Object.entries(part.byCreator ?? {}));
    now = { plants: now.plants + part.plants, next: part.next, byCreator };
    yield now;
  }
}

function standing({ plants, next }: Counted): string {
  return next === null
    ? plantsText(plants)
    : `${plants === 1 ? '1 plant' : `${count(plants)} plants`} so far, up to id ${next}`;
}
