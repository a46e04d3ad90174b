import { useEffect, useRef, useState } from 'preact/hooks';
import type { PlantId } from '../../contract.ts';
import type { Api } from './api.ts';
import { Failure } from './components.ts';
import { plantsText } from './format.ts';
import { html } from './html.ts';
import { type PlantView, queryOf } from './plant-view.ts';

interface Counted {
  readonly plants: number;
  /** The id after which the count goes on; null at the end. */
  readonly next: PlantId | null;
}

/** Counts the plants of a view when asked to, as this reads the whole store. */
export function PlantCount({ api, view }: { api: Api; view: PlantView }) {
  const [counted, setCounted] = useState<Counted | undefined>();
  const [isCounting, setCounting] = useState(false);
  const [error, setError] = useState<Error | undefined>();
  const underWay = useRef(new AbortController());
  useEffect(() => () => underWay.current.abort(), []);

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
  const start = counted === undefined ? 'Count' : 'Count again';
  // The button with several texts keeps the focus.
  return html`
    <span role="status">${counted && !isCounting && standing(counted)}</span>
    ${isCounting && html`<span class="progress">Counting${counted && `: ${standing(counted)}`}…</span>`}
    <button type="button" class="small" onClick=${press}>${isCounting ? 'Stop' : isPartial ? 'Go on' : start}</button>
    ${isPartial && !isCounting && html`<button type="button" class="small" onClick=${() => run()}>Count again</button>`}
    <${Failure} error=${error} />`;
}

/** Yields the count so far, after each answer. */
async function* countOn(
  api: Api,
  view: PlantView,
  from: Counted = { plants: 0, next: '' },
  signal: AbortSignal,
): AsyncGenerator<Counted> {
  for (let now = from; now.next !== null; ) {
    const part = await api.plantCount(queryOf({ ...view, order: 'id', at: now.next }), signal);
    signal.throwIfAborted();
    now = { plants: now.plants + part.plants, next: part.next };
    yield now;
  }
}

function standing({ plants, next }: Counted): string {
  return next === null ? plantsText(plants) : `${plantsText(plants)} up to id ${next}`;
}
