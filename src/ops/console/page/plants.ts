import { useMemo, useState } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { StoredPlant } from '../../contract.ts';
import type { Api } from './api.ts';
import {
  type Column,
  ExactText,
  Failure,
  LocalTime,
  Result,
  Skeleton,
  Table,
} from './components.ts';
import { localTime, plantsText, zoneNow } from './format.ts';
import { html } from './html.ts';
import { PlantCount } from './plant-count.ts';
import { creatorsIn, JumpToId, PlantFilters } from './plant-filters.ts';
import { type PlantSearch, usePlantSearch } from './plant-search.ts';
import {
  fileOf,
  isFiltered,
  type PlantView,
  pathOf,
  plantsOfToken,
  timeFaultOf,
  viewFrom,
  withoutFilter,
} from './plant-view.ts';
import { useAnswer } from './requests.ts';
import { pushPath, replacePath } from './router.ts';
import { NoSuchToken } from './token-list.ts';
import { useTyped } from './typed.ts';

/** The address tells what is shown, so each view is a link. */
export function Plants({ api, query }: { api: Api; query: URLSearchParams }) {
  const view = useMemo(() => viewFrom(query), [query]);
  const fault = timeFaultOf(view);
  const { answer: tokens } = useAnswer(api.tokens);
  const names = useMemo(() => creatorsIn(tokens), [tokens]);
  // Half a name would search the whole store for nothing. Enter searches for any name.
  const isWhole = ({ createdBy }: PlantView) =>
    createdBy === '' || tokens === undefined || names.includes(createdBy);
  const [typed, type] = useTyped(view, (now) =>
    pathOf(isWhole(now) ? now : { ...now, createdBy: view.createdBy }),
  );
  const [total, setTotal] = useState<number | undefined>();
  const isNoneKnown = total === 0 && allOf(typed) === allOf(view);
  const show = (change: Partial<PlantView>) => replacePath(pathOf({ ...typed, ...change, at: '' }));

  const orders = [
    ['newest', 'Newest first'],
    ['id', 'By id'],
  ] as const;
  return html`
    <${JumpToId} />
    <${PlantFilters} typed=${typed} names=${names} fault=${fault} onType=${(change: Partial<PlantView>) => type({ ...change, at: '' })} onChoose=${show} />
    <div class="plant-tools">
      <fieldset class="choice">
        <legend class="unseen">Order</legend>
        ${orders.map(
          ([order, title]) => html`
            <label><input type="radio" name="order" checked=${view.order === order} onChange=${() => show({ order })} />
              <span>${title}</span></label>`,
        )}
      </fieldset>
      <p class="quiet on-phone">Times are in ${zoneNow()}.</p>
      ${timeFaultOf(typed) === undefined && html`<${AllMatches} api=${api} view=${typed} onTotal=${setTotal} />`}
    </div>
    <${NoSuchToken} name=${view.createdBy} names=${tokens && names} onChoose=${(createdBy: string) => show({ createdBy })} />
    ${fault === undefined && html`<${PlantList} api=${api} view=${view} isNoneKnown=${isNoneKnown} onShow=${show} />`}`;
}

/** The path of the first page. */
function allOf(view: PlantView): string {
  return pathOf({ ...view, at: '' });
}

interface MatchesProps {
  readonly api: Api;
  /** As typed: the address follows later. */
  readonly view: PlantView;
  readonly onTotal: (plants: number | undefined) => void;
}

function AllMatches({ api, view, onTotal }: MatchesProps) {
  return html`
    <${PlantCount} key=${allOf(view)} api=${api} view=${view} onTotal=${onTotal}>
      <span>Download <a href=${fileOf(view, 'ndjson')} download>NDJSON</a> <a href=${fileOf(view, 'csv')} download>CSV</a></span>
    <//>`;
}

const columns: readonly Column<StoredPlant>[] = [
  {
    head: 'Id',
    isNumber: true,
    cell: ({ id }) => html`<a class="whole-row" href="#/plants/${id}">${id}</a>`,
  },
  { head: 'Name', cell: ({ name }) => html`<${ExactText} text=${name} isExcerpt />` },
  {
    head: 'Tag',
    cell: ({ tag }) => (tag === undefined ? '' : html`<${ExactText} text=${tag} isExcerpt />`),
  },
  {
    head: 'Created',
    isTime: true,
    cell: ({ createdAt }) => html`<${LocalTime} time=${createdAt} />`,
  },
  { head: 'By', cell: ({ createdBy }) => html`<${Creator} name=${createdBy} />` },
];

/** A link to all plants of the same creator. */
export function Creator({ name }: { name: string }) {
  return html`<a class="own" href=${plantsOfToken(name)} title="All plants by ${name}"><${ExactText} text=${name} isExcerpt /></a>`;
}

interface ListProps {
  readonly api: Api;
  readonly view: PlantView;
  /** A count has found no plant. A search that finds one later is right. */
  readonly isNoneKnown: boolean;
  readonly onShow: (change: Partial<PlantView>) => void;
}

function PlantList({ api, view, isNoneKnown, onShow }: ListProps) {
  const search = usePlantSearch(api, view);
  const { plants, isEnd, isSearching, error, goOn, stop } = search;
  const hasNone = search.view !== view || plants.length === 0;
  if (isNoneKnown && hasNone && !error)
    return html`<${Nothing} api=${api} view=${view} onShow=${onShow} />`;
  if (search.view === undefined)
    return html`
      <div class="continuation late"><p class="progress">Searching…</p><button onClick=${stop}>Stop</button></div>
      <${Skeleton} rows=${8} />`;
  return html`
    <${Failure} error=${error} />
    ${plants.length > 0 && html`<div class="plants"><${Table} caption="Plants" columns=${columns} rows=${plants} rowKey=${({ id }: StoredPlant) => id} /></div>`}
    ${plants.length === 0 && isEnd && view.at === '' && html`<${Nothing} api=${api} view=${view} onShow=${onShow} />`}
    <div class="continuation">
      <${Result}>${!isSearching && !error && summary(search)}<//>
      ${isSearching && html`<p class="progress">${progress(search)}</p>`}
      ${isSearching && html`<button onClick=${stop}>Stop</button>`}
      ${!isSearching && isPartial(search) && plants.length === 0 && mayIgnoreCase(view) && html`<${IgnoreCase} onShow=${onShow} />`}
      ${!isSearching && (error || isPartial(search)) && html`<button onClick=${goOn}>${error ? 'Try again' : 'Go on'}</button>`}
      <${Pages} search=${search} view=${view} />
    </div>`;
}

const pagePlants = limits.ops.searchPlantsDefault;

/** The search has stopped before the page was full. */
function isPartial({ plants, isEnd }: PlantSearch): boolean {
  return !isEnd && plants.length < pagePlants;
}

function Pages({ search, view }: { search: PlantSearch; view: PlantView }) {
  const { next, isEnd, isSearching } = search;
  const hasNext = !isSearching && !isEnd && !isPartial(search) && next !== null;
  const turn = (event: MouseEvent) => {
    event.preventDefault();
    pushPath(pathOf({ ...view, at: next ?? '' }), { isNextPage: true });
    document.querySelector('h1')?.focus();
  };
  return html`
    <div class="pages" role="group" aria-label="Pages of plants">
      ${view.at !== '' && html`<a class="button" href="#${allOf(view)}">First page</a>`}
      ${history.state?.isNextPage === true && html`<button onClick=${() => history.back()}>Previous</button>`}
      ${hasNext && html`<a class="button" href="#${pathOf({ ...view, at: next })}" onClick=${turn}>Next</a>`}
    </div>`;
}

function progress(search: PlantSearch): string {
  const { plants } = search;
  const place = placeOf(search);
  const doing = place === undefined ? 'Searching' : `Searched ${place}`;
  return plants.length === 0 ? `${doing}…` : `${doing}, ${plantsText(plants.length)} so far…`;
}

/** How far the search is; undefined if the service cannot tell. */
function placeOf({ view, next, reachedAt }: PlantSearch): string | undefined {
  if (view?.order === 'id' && next !== null) return `up to id ${next}`;
  return reachedAt === null ? undefined : `back to ${localTime(reachedAt)}`;
}

function summary(search: PlantSearch): string {
  const { plants, isEnd, view } = search;
  if (plants.length === 0 && isEnd) return view?.at ? 'No more plants.' : '';
  const found = plantsText(plants.length);
  if (isEnd) return `${found}, and no more.`;
  if (!isPartial(search)) return `${found} shown, more on the next page.`;
  return `${found} ${placeOf(search) ?? 'so far'}.`;
}

function mayIgnoreCase({ name, tag, ignoreCase }: PlantView): boolean {
  return (name !== '' || tag !== '') && ignoreCase === '';
}

function IgnoreCase({ onShow }: Pick<ListProps, 'onShow'>) {
  return html`<button onClick=${() => onShow({ ignoreCase: 'true' })}>Ignore case</button>`;
}

/** The command names the store, so that it can run in any folder. */
function NoPlantYet({ api }: { api: Api }) {
  const { answer: overview } = useAnswer(api.overview);
  return html`
    <section class="card empty">
      <h2>There is no plant yet</h2>
      <p>Clients create plants with a token: <a href="#/tokens">create a token</a>.</p>
      ${overview && html`<p>Or this command reads plants from a file:</p><pre tabindex="0"><code>plant-store import FILE --store ${overview.store.shellLocation}</code></pre>`}
    </section>`;
}

/** Says what to do where there is nothing to see. */
function Nothing({ api, view, onShow }: Pick<ListProps, 'api' | 'view' | 'onShow'>) {
  if (!isFiltered(view)) return html`<${NoPlantYet} api=${api} />`;
  const { tag, since, until } = view;
  return html`
    <section class="card empty">
      <h2>No plant matches</h2>
      ${tag !== '' && html`<p>A tag matches as a whole. The name matches in any part.</p>`}
      <p class="actions">
        ${mayIgnoreCase(view) && html`<${IgnoreCase} onShow=${onShow} />`}
        ${(since || until) && html`<button onClick=${() => onShow({ since: '', until: '' })}>At any time</button>`}
        <button onClick=${() => onShow(withoutFilter(view))}>Show all plants</button>
      </p>
    </section>`;
}
